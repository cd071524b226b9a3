import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { endTree, listTree } from '../../src/system/process/process-tree.ts';
import { makeFolder } from '../support/repository.ts';

const started: number[] = [];

afterEach(() => {
  for (const pid of started.splice(0)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // gone, as it should be
    }
  }
});

/** A shell that runs this; what it starts inherits the environment. */
function startShell(script: string, folder: string, env: Record<string, string> = {}): ChildProcess {
  const child = spawn('sh', ['-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', NODE: process.execPath, ...env },
    stdio: 'ignore',
  });
  started.push(pidOf(child));
  return child;
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('it did not start');
  return child.pid;
}

/** Waits for the pid that a test process writes to a file. */
async function readPid(folder: string, name: string): Promise<number> {
  const pid = await vi.waitFor(
    () => {
      const text = existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '';
      expect(text).toMatch(/^\d+\n$/);
      return Number(text);
    },
    { timeout: 20_000, interval: 10 },
  );
  started.push(pid);
  return pid;
}

function runs(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z';
  return !/\) [ZX]/.test(stat);
}

const quick = [
  { signal: 'SIGINT', grace: 300 },
  { signal: 'SIGTERM', grace: 300 },
  { signal: 'SIGKILL', grace: 10_000 },
] as const;

describe.runIf(process.platform === 'linux')('ending a process tree', () => {
  it('ends a program with the first signal if that is enough', async () => {
    const child = startShell('exec sleep 1000', makeFolder());
    expect(await endTree(pidOf(child))).toEqual({ ended: true, by: 'SIGINT', left: [] });
    expect(runs(pidOf(child))).toBe(false);
  });

  it('ends a program that ignores signals, and its grandchildren', async () => {
    const folder = makeFolder();
    const child = startShell(
      `trap '' INT TERM; sh -c 'sh -c "echo \\$\\$ >grandchild; sleep 1000; :" & echo $$ >child; wait; sleep 1000' ; :`,
      folder,
    );
    const pids = [await readPid(folder, 'child'), await readPid(folder, 'grandchild')];
    expect(listTree(pidOf(child)).map(({ pid }) => pid)).toEqual(
      expect.arrayContaining([pidOf(child), ...pids]),
    );
    expect(await endTree(pidOf(child), { signals: quick })).toEqual({ ended: true, by: 'SIGKILL', left: [] });
    expect([pidOf(child), ...pids].filter(runs)).toEqual([]);
  });

  it('finds a daemon that left the tree only by its marker', async () => {
    const folder = makeFolder();
    const marker = `ORCH_SESSION=sess-${process.pid}`;
    const child = startShell(
      `setsid sh -c 'echo $$ >daemon; exec sleep 1000' & while ! test -s daemon; do :; done`,
      folder,
      { ORCH_SESSION: `sess-${process.pid}` },
    );
    const daemon = await readPid(folder, 'daemon');
    await vi.waitFor(() => expect(runs(pidOf(child))).toBe(false));
    const isOver = () => child.exitCode !== null;
    expect(listTree(pidOf(child))).toEqual([]);
    expect(listTree(pidOf(child), `${marker}9`)).toEqual([]);
    expect(await endTree(pidOf(child), { isOver })).toEqual({ ended: true, by: null, left: [] });
    expect(runs(daemon)).toBe(true);
    expect(listTree(pidOf(child), marker).map(({ pid }) => pid)).toEqual([daemon]);
    const result = await endTree(pidOf(child), { marker, isOver, signals: quick });
    // What a shell starts with `&` ignores SIGINT.
    expect(result).toEqual({ ended: true, by: 'SIGTERM', left: [] });
    expect(runs(daemon)).toBe(false);
  });

  it('ends what is left of a process group', async () => {
    const folder = makeFolder();
    const child = spawn('sh', ['-c', 'sleep 1000 & echo $! >left'], { cwd: folder, detached: true });
    const left = await readPid(folder, 'left');
    await vi.waitFor(() => expect(child.exitCode).toBe(0));
    const result = await endTree(pidOf(child), { isOver: () => true, signals: quick.slice(1) });
    expect(result).toEqual({ ended: true, by: 'SIGTERM', left: [] });
    expect(runs(left)).toBe(false);
  });

  it('ends a tree that keeps forking, without a marker', async () => {
    const folder = makeFolder();
    const child = startShell(
      'while :; do sleep 1000 & echo $! >>forked; test $(wc -l <forked) -gt 150 && break; done; wait',
      folder,
    );
    await vi.waitFor(() => expect(readFileSync(join(folder, 'forked'), 'utf8')).toContain('\n'), {
      interval: 2,
    });
    const result = await endTree(pidOf(child), { signals: quick.slice(1) });
    const forked = readFileSync(join(folder, 'forked'), 'utf8').split('\n').filter(Boolean).map(Number);
    started.push(...forked);
    expect(result).toMatchObject({ ended: true, left: [] });
    expect(forked.filter(runs)).toEqual([]);
  });

  it('remembers processes whose parent ended first', async () => {
    const folder = makeFolder();
    const child = startShell(
      `sh -c 'trap "" INT TERM; echo $$ >stubborn; while :; do sleep 1; done' & wait`,
      folder,
    );
    const stubborn = await readPid(folder, 'stubborn');
    const ending = endTree(pidOf(child), { signals: quick });
    await vi.waitFor(() => expect(runs(pidOf(child))).toBe(false));
    expect(await ending).toEqual({ ended: true, by: 'SIGKILL', left: [] });
    expect(runs(stubborn)).toBe(false);
  });

  it('resumes a stopped program, so that it can end normally', async () => {
    const folder = makeFolder();
    const child = startShell(
      `trap 'echo bye >bye; exit' INT; echo $$ >ready; while :; do sleep 0.1; done`,
      folder,
    );
    const pid = await readPid(folder, 'ready');
    process.kill(pid, 'SIGSTOP');
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') T '));
    expect(await endTree(pidOf(child))).toEqual({ ended: true, by: 'SIGINT', left: [] });
    expect(existsSync(join(folder, 'bye'))).toBe(true);
  });

  it('reports processes that could not be ended', async () => {
    const folder = makeFolder();
    const child = startShell(`trap '' INT; echo $$ >ready; while :; do sleep 0.1; done`, folder);
    const pid = await readPid(folder, 'ready');
    const result = await endTree(pidOf(child), { signals: [{ signal: 'SIGINT', grace: 100 }] });
    expect(result).toMatchObject({ ended: false, by: 'SIGINT' });
    expect(result.left).toContain(pid);
  });

  it('does nothing if nothing runs, and never touches itself, its parents or the system', async () => {
    const child = startShell(':', makeFolder());
    await vi.waitFor(() => expect(child.exitCode).toBe(0));
    const nothing = { ended: true, by: null, left: [] };
    for (const pid of [pidOf(child), 0, 1, -1, Number.NaN, process.ppid]) {
      expect(await endTree(pid), String(pid)).toEqual(nothing);
    }
    const marker = `PATH=${process.env.PATH}`;
    const spared = [process.pid, process.ppid, 1];
    expect(listTree(0, marker).filter(({ pid }) => spared.includes(pid))).toEqual([]);
  });

  it('leaves a reused pid alone', async () => {
    const child = startShell('exec sleep 1000', makeFolder());
    const [listed] = listTree(pidOf(child));
    expect(listed?.pid).toBe(pidOf(child));
    expect(await endTree({ pid: pidOf(child), startedAt: '1' })).toEqual({ ended: true, by: null, left: [] });
    expect(runs(pidOf(child))).toBe(true);
  });
});
