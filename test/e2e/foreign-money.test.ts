import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  type CheckpointDocument,
  formatDocument,
  sealDocument,
} from '../../src/checkpoint/document/document.ts';
import type { Checkpoint } from '../../src/index.ts';
import { commitFiles, documentPath, epicRef, list, repositoryAt, show } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, type Hub, makeHub, syncIn } from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';

vi.setConfig({ testTimeout: 180_000 });

type Forged = { -readonly [K in keyof CheckpointDocument]: unknown } & {
  // biome-ignore lint/suspicious/noExplicitAny: a forger minds no types
  state: any;
};

/** A checkpoint on top of the newest on the hub, by a clone that writes into it what it likes. */
function forge(hub: Hub, change: (document: Forged) => void): string {
  const folder = join(hub.home, 'forger');
  if (!existsSync(folder)) cloneOf(hub, 'forger');
  const forger = repositoryAt(hub.home, folder);
  forger.git('fetch', '--quiet', hub.url, `+${epicRef}:${epicRef}`);
  const newest = list(forger).checkpoints[0];
  if (newest === undefined) throw new Error('there is nothing to forge upon');
  const { integrity: _, ...document } = show(forger, newest.id).document;
  const seq = newest.seq + 1;
  const id = `ckpt-${String(seq).padStart(8, '0')}-forged`;
  const forged = { ...document, id, seq } as unknown as Forged;
  change(forged);
  const made = { ...newest, seq, id } as Checkpoint;
  const text = formatDocument(sealDocument(forged as never)).toString();
  const message = forger.git('log', '-1', '--format=%B', newest.commit).replaceAll(newest.id, id);
  const commit = commitFiles(forger, newest.commit, { [documentPath(made)]: text }, message);
  forger.git('push', '--quiet', hub.url, `${commit}:${epicRef}`);
  return commit;
}

const record = (clone: TestRepository, ...what: string[]) =>
  orchJson(clone, ['record', ...what, '--epic', 'x']);
const spentIn = (clone: TestRepository): number =>
  orchJson<{ budget: { spentUsd: number } }>(clone, ['cost', '--epic', 'x']).budget.spentUsd;
const limitIn = (clone: TestRepository): number | null =>
  orchJson<{ budget: { limitUsd: number | null } }>(clone, ['cost', '--epic', 'x']).budget.limitUsd;
const writerOf = ({ folder }: TestRepository): string =>
  JSON.parse(readFileSync(join(folder, '.git', 'orchestration', 'writer.json'), 'utf8')).id;

async function spendAndSync(amount: string) {
  const hub = makeHub();
  const [alice, bob] = [cloneOf(hub, 'alice'), cloneOf(hub, 'bob')];
  record(alice, 'cost', amount);
  expect((await syncIn(alice)).errors).toEqual([]);
  return { hub, alice, bob };
}

describe('money that others claim', () => {
  it('I6: a later generation of a row lowers nothing, in the clone it is about and in every other', async () => {
    const { hub, alice, bob } = await spendAndSync('4.50');
    await syncIn(bob);
    const writer = writerOf(alice);
    forge(hub, ({ state }) => {
      state.ledger[writer].value = { generation: 99, folded: {}, meters: {} };
    });
    record(bob, 'cost', '1');
    for (const clone of [bob, alice, bob]) expect((await syncIn(clone)).errors).toEqual([]);
    expect([spentIn(alice), spentIn(bob)]).toEqual([5.5, 5.5]);
    record(alice, 'cost', '0.25');
    for (const clone of [alice, bob]) await syncIn(clone);
    expect([spentIn(alice), spentIn(bob)]).toEqual([5.75, 5.75]);
  });

  it('I4: marks that claim a journal was counted hide nothing that this clone records', async () => {
    const { hub, alice } = await spendAndSync('4.50');
    const { session } = orchJson<{ session: { id: string } }>(alice, [
      'start',
      '-e',
      'x',
      '--background',
      '--no-baseline',
    ]);
    await syncIn(alice);
    const writer = writerOf(alice);
    forge(hub, ({ state }) => {
      state.ledger[writer].value.folded[session.id] = 900_000_000;
      state.clock += 60_000;
    });
    record(alice, 'cost', '1');
    await syncIn(alice);
    record(alice, 'cost', '2');
    record(alice, 'note', 'still counted');
    orchJson(alice, ['session', 'pause', '-e', 'x']);
    expect(spentIn(alice)).toBe(7.5);
    expect(runOrch(alice, ['brief', '-e', 'x']).stdout).toContain('still counted');
  });

  const impossible: { readonly [what: string]: (document: Forged) => void } = {
    'a negative meter': ({ state }) => {
      const row = Object.values<{ value: { meters: object } }>(state.ledger)[0]?.value;
      for (const usage of Object.values(row?.meters ?? {})) usage.micros = -4_000_000;
    },
    'half a micro-dollar': ({ state }) => {
      const row = Object.values<{ value: { meters: object } }>(state.ledger)[0]?.value;
      for (const usage of Object.values(row?.meters ?? {})) usage.micros = 0.5;
    },
    'a budget of nonsense': ({ state }) => {
      state.current.budget = { value: 'all of it', stamp: [state.clock, 'w-x', 0] };
    },
    'a time in the year 5138': ({ state }) => {
      state.clock = 100_000_000_000_000;
    },
    'a clock decades ahead': ({ state }) => {
      state.clock = Date.UTC(2110, 0);
    },
    'a million rows': ({ state }) => {
      const [row] = Object.values(state.ledger);
      for (let n = 0; n < 20_000; n++) state.ledger[`w-${n}`] = row;
    },
    'a row summed up a billion times': ({ state }) => {
      for (const { value } of Object.values<{ value: { generation: number } }>(state.ledger))
        value.generation = 1_000_000_000;
    },
    'a stamp past its clock': ({ state }) => {
      state.current.asked = { value: { text: 'x' }, stamp: [Date.UTC(2125, 0), 'w-x', 0] };
    },
    'so much that nothing could be added': ({ state }) => {
      for (let n = 0; n < 100; n++)
        state.current[`k${n}`] = { value: 'x'.repeat(7_000), stamp: [1, 'w-x', 0] };
    },
    'values nested without end': ({ state }) => {
      let deep: unknown = 1;
      for (let n = 0; n < 200; n++) deep = [deep];
      state.current.deep = { value: deep, stamp: [1, 'w-x', 0] };
    },
    'a session that is a path': ({ state }) => {
      const [session] = Object.values(state.sessions);
      state.sessions['../../escape'] = session;
    },
  };

  it.each(Object.keys(impossible))('%s is set aside and named, and the other epics arrive', async (what) => {
    const { hub, alice, bob } = await spendAndSync('4.50');
    orchJson(alice, ['record', 'note', 'hello', '-e', 'other']);
    await syncIn(alice);
    const forged = forge(hub, impossible[what] ?? (() => {}));
    const before = alice.git('rev-parse', epicRef);
    for (const clone of [alice, bob]) {
      const { errors } = await syncIn(clone);
      expect(errors).toMatchObject([{ epicId: 'x', code: 'INTEGRITY' }]);
      expect(errors[0]?.message).toMatch(/^the remote's copy of x is damaged: /);
    }
    expect(alice.git('rev-parse', epicRef)).toBe(before);
    expect(hub.git('rev-parse', epicRef)).toBe(forged);
    expect(spentIn(alice)).toBe(4.5);
    expect(runOrch(bob, ['status']).stdout).toContain('other');
  });

  it('a tree that stands for ten billion files is not walked', async () => {
    const { hub, alice } = await spendAndSync('4.50');
    const forger = cloneOf(hub, 'bomber');
    forger.git('fetch', '--quiet', hub.url, `${epicRef}:${epicRef}`);
    const git = (args: string[], input: string) =>
      execFileSync('git', args, { cwd: forger.folder, input, encoding: 'utf8' }).trim();
    const blob = git(['hash-object', '-w', '--stdin'], 'x');
    const rows = (mode: string, type: string, oid: string) =>
      Array.from({ length: 10 }, (_, n) => `${mode} ${type} ${oid}\tf${n}\n`).join('');
    let bomb = git(['mktree'], rows('100644', 'blob', blob));
    for (let level = 0; level < 9; level++) bomb = git(['mktree'], rows('040000', 'tree', bomb));
    const newest = list(forger).checkpoints[0];
    if (newest === undefined) throw new Error('there is nothing to forge upon');
    const path = '.orchestration/checkpoints/x';
    let tree = git(
      ['mktree'],
      `${forger.git('ls-tree', `${newest.commit}:${path}`)}\n040000 tree ${bomb}\tartifacts\n`,
    );
    for (const name of path.split('/').reverse()) tree = git(['mktree'], `040000 tree ${tree}\t${name}\n`);
    const message = forger.git('log', '-1', '--format=%B', newest.commit);
    const who = ['-c', 'user.name=Stranger', '-c', 'user.email=stranger@example.com'];
    const commit = git([...who, 'commit-tree', tree, '-p', newest.commit], message);
    forger.git('push', '--quiet', hub.url, `${commit}:${epicRef}`);
    const { errors } = await syncIn(alice);
    expect(errors[0]?.message).toContain('a folder of more than 20000 files');
    expect(spentIn(alice)).toBe(4.5);
  });

  it.each(['loose', 'packed'])('a document of 40 MB (%s) is not read into memory', async (how) => {
    const { hub, alice, bob } = await spendAndSync('4.50');
    forge(hub, (document) => {
      document.reason = 'x'.repeat(40_000_000);
    });
    if (how === 'packed') alice.git('config', 'transfer.unpackLimit', '1');
    const { errors } = await syncIn(alice);
    expect(errors[0]?.message).toContain('larger than 1048576 bytes');
    expect(spentIn(alice)).toBe(4.5);
    expect(bob.git('for-each-ref', 'refs/orchestration')).toBe('');
  });
});

describe('a clone that was restored from a backup', () => {
  it('I6: adds up both of its lives, goes on under a new name, and says so once', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    record(laptop, 'cost', '5');
    const backup = join(hub.home, 'backup');
    cpSync(laptop.folder, backup, { recursive: true });
    record(laptop, 'cost', '20');
    await syncIn(laptop);
    await syncIn(desk);
    const was = writerOf(laptop);

    rmSync(laptop.folder, { recursive: true });
    renameSync(backup, laptop.folder);
    record(laptop, 'cost', '0.80');
    expect(spentIn(laptop)).toBe(5.8);
    const told = runOrch(laptop, ['sync', '-y']);
    expect(told).toMatchObject({ status: 0 });
    expect(told.stderr).toContain('this clone was restored from an older copy');
    expect(spentIn(laptop)).toBe(25.8);
    expect(writerOf(laptop)).not.toBe(was);
    expect(told.stderr).toContain(writerOf(laptop));
    expect(runOrch(laptop, ['doctor']).stdout).toContain('restored from an older copy');
    expect(runOrch(laptop, ['sync'])).toMatchObject({ status: 0, stderr: '' });

    record(laptop, 'cost', '1');
    for (const clone of [desk, laptop, desk]) await syncIn(clone);
    expect([spentIn(laptop), spentIn(desk)]).toEqual([26.8, 26.8]);
  });
});

describe('a budget that another clone raised', () => {
  async function shareBudget() {
    const hub = makeHub();
    const [alice, bob] = [cloneOf(hub, 'alice'), cloneOf(hub, 'bob')];
    orchJson(alice, ['cost', 'budget', '5', '-e', 'x']);
    for (const clone of [alice, bob]) await syncIn(clone);
    expect([limitIn(alice), limitIn(bob)]).toEqual([5, 5]);
    return { hub, alice, bob };
  }

  it('I7: counts here only after a yes; a lower one counts at once', async () => {
    const { alice, bob } = await shareBudget();
    orchJson(bob, ['cost', 'budget', '50', '-e', 'x']);
    await syncIn(bob);
    const told = runOrch(alice, ['sync']);
    expect(told.stderr).toContain(
      'x: another clone raised the budget to $50.00. Here the limit is still $5.00.\nTo apply it: orch cost budget 50 -e x',
    );
    expect([limitIn(alice), limitIn(bob)]).toEqual([5, 50]);
    // It is the limit here: what passes it stops, and is saved once.
    expect(runOrch(alice, ['record', 'cost', '6', '-e', 'x', '--json']).status).toBe(4);
    expect(runOrch(alice, ['record', 'note', 'on', '-e', 'x', '--json']).status).toBe(4);
    expect(list(alice).checkpoints.filter(({ trigger }) => trigger === 'budget')).toHaveLength(1);
    expect(runOrch(alice, ['cost', '-e', 'x']).stderr).toContain('orch cost budget 50 -e x');
    // An agent cannot say yes for its user.
    const byAgent = runOrch(alice, ['cost', 'budget', '50', '-e', 'x'], { env: { CLAUDECODE: '1' } });
    expect(byAgent).toMatchObject({ status: 2 });
    orchJson(alice, ['cost', 'budget', '50', '-e', 'x']);
    expect(limitIn(alice)).toBe(50);

    orchJson(bob, ['cost', 'budget', '20', '-e', 'x']);
    for (const clone of [alice, bob, alice]) await syncIn(clone);
    orchJson(bob, ['cost', 'budget', '15', '-e', 'x']);
    for (const clone of [bob, alice]) await syncIn(clone);
    expect(limitIn(alice)).toBe(15);
  });

  it('is held also against a lower one that is in no checkpoint yet', async () => {
    const { hub, alice } = await shareBudget();
    orchJson(alice, ['start', '-e', 'x', '--background', '--no-baseline']);
    orchJson(alice, ['cost', 'budget', '2', '-e', 'x']);
    forge(hub, ({ state }) => {
      state.clock += 1_000;
      state.current.budget = { value: 4_000_000, stamp: [state.clock + 86_400_000, 'w-x', 0] };
      state.clock += 86_400_000;
    });
    expect(await syncIn(alice)).toMatchObject({ raised: [{ fromUsd: 2, toUsd: 4 }] });
    expect(limitIn(alice)).toBe(2);
    orchJson(alice, ['pause', '-e', 'x']);
    expect(limitIn(alice)).toBe(2);
  });

  it('is held also where it was lifted, and where its forger signs as this clone', async () => {
    const { hub, alice } = await shareBudget();
    const writer = writerOf(alice);
    forge(hub, ({ state }) => {
      state.clock += 1;
      state.current.budget = { value: null, stamp: [state.clock, writer, 5] };
    });
    expect(await syncIn(alice)).toMatchObject({ raised: [{ epicId: 'x', fromUsd: 5, toUsd: null }] });
    expect(limitIn(alice)).toBe(5);
  });

  it('counts at once where the config accepts it', async () => {
    const { alice, bob } = await shareBudget();
    orchJson(bob, ['cost', 'budget', '50', '-e', 'x']);
    await syncIn(bob);
    mkdirSync(join(alice.folder, '.orchestration'), { recursive: true });
    writeFileSync(join(alice.folder, '.orchestration', 'config.yaml'), 'sync: { budgets: accept }\n');
    // A repository cannot say yes for its user.
    expect(runOrch(alice, ['sync'], { env: { ORCH_TRUST: '1' } }).stderr).toBe('');
    expect(limitIn(alice)).toBe(50);
  });
});
