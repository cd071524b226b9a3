import { describe, expect, it } from 'vitest';
import { listFromPs, type ProcessRow, parsePs } from '../../src/system/process/process-table.ts';
import { selectTree } from '../../src/system/process/process-tree.ts';
import { sumTree } from '../../src/system/process/tree-work.ts';

/** `pid<parent`, then `g<group>` and `over` where it matters; every process started at `t<pid>`. */
function makeTable(...lines: string[]): Map<number, ProcessRow> {
  return new Map(
    lines.map((line) => {
      const [, pid, parent, group, over] = /^(\d+)<(\d+)(?: g(\d+))?( over)?$/.exec(line) ?? [];
      return [
        Number(pid),
        {
          pid: Number(pid),
          parent: Number(parent),
          group: Number(group ?? 5),
          startedAt: `t${pid}`,
          phase: over ? 'over' : 'running',
          cpu: { own: 1, ended: 100 },
        },
      ];
    }),
  );
}

const table = makeTable(
  '1<0',
  '5<1',
  '10<5', // this process
  '20<10',
  '21<20',
  '22<21',
  '23<20 over',
  '30<5',
  '40<1 g20',
  '41<40 g41',
  '50<1',
  '60<1 g30',
);

function select(
  pid: number,
  { startedAt = `t${pid}`, known = [] as number[], marked = [] as number[] } = {},
) {
  return selectTree(table, {
    root: { pid, startedAt },
    self: 10,
    known: known.map((each) => ({ pid: each, startedAt: `t${each}` })),
    isMarked: (each) => marked.includes(each),
  }).map((row) => row.pid);
}

describe('the members of a tree', () => {
  it('are the root, its descendants and the rest of its group, without zombies', () => {
    expect(select(20).sort()).toEqual([20, 21, 22, 40, 41]);
  });

  it('are not those of another process with the same pid, nor of its group', () => {
    expect(select(20, { startedAt: 'earlier' })).toEqual([]);
    expect(select(30, { startedAt: 'earlier' })).toEqual([]);
  });

  it('are the known and the marked, with their descendants', () => {
    expect(select(99, { known: [21] })).toEqual([21, 22]);
    expect(select(99, { marked: [40] })).toEqual([40, 41]);
  });

  it('include the members of a group that one of them leads', () => {
    const left = makeTable(
      '1<0',
      '10<1 g10',
      '70<1 g70',
      '71<1 g70',
      '72<71 g72',
      '73<1 g72',
      '80<1 g80',
      '81<1 g80',
    );
    const found = selectTree(left, {
      root: { pid: 0, startedAt: '' },
      self: 10,
      known: [],
      isMarked: (pid) => [70, 81].includes(pid),
    });
    // 81 is marked but leads no group, so the group it is in does not count.
    expect(found.map(({ pid }) => pid).sort()).toEqual([70, 71, 72, 73, 81]);
  });

  it('never include this process, its ancestors or the system', () => {
    for (const pid of [0, 1, 5, 10]) expect(select(pid), String(pid)).toEqual([]);
    expect(select(50, { marked: [0, 1, 5, 10], known: [1, 5, 10] })).toEqual([50]);
  });
});

describe('what a tree of processes does', () => {
  it('is added up from the living, and from what the ones that ended left', () => {
    // 20 runs 21, 22 and a child that has ended.
    expect(sumTree(table, 20)).toEqual({ isAlive: true, isFrozen: false, own: 1, others: 100 + 3 * 101 });
    expect(sumTree(table, 23)).toMatchObject({ isAlive: false });
    expect(sumTree(table, 99)).toMatchObject({ isAlive: false });
  });
});

describe('the output of ps', () => {
  it('is parsed one process per line', () => {
    const text = `    1     0     1 Ss   0:01.50 Tue Jan  2 03:04:05 2024\n  812   1   800 T+   1-02:00:00 Tue Jan  2 03:04:06 2024    \n  813 812 800 Z    00:00:00 Tue Jan  2 03:04:07 2024\n`;
    expect(parsePs(text)).toEqual([
      {
        pid: 1,
        parent: 0,
        group: 1,
        startedAt: 'Tue Jan  2 03:04:05 2024',
        phase: 'running',
        cpu: { own: 1_500, ended: 0 },
      },
      {
        pid: 812,
        parent: 1,
        group: 800,
        startedAt: 'Tue Jan  2 03:04:06 2024',
        phase: 'stopped',
        cpu: { own: 93_600_000, ended: 0 },
      },
      {
        pid: 813,
        parent: 812,
        group: 800,
        startedAt: 'Tue Jan  2 03:04:07 2024',
        phase: 'over',
        cpu: { own: 0, ended: 0 },
      },
    ]);
    expect(parsePs('')).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')('has this process in it, as it is', () => {
    const mine = listFromPs().find(({ pid }) => pid === process.pid);
    expect(mine).toMatchObject({ parent: process.ppid, phase: 'running' });
    expect(mine?.startedAt).toMatch(/\d\d:\d\d:\d\d \d{4}$/);
  });
});
