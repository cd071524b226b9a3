import { appendFileSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatRecord } from '../../src/journal/journal-format.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import {
  callOrch,
  readWhenThere,
  startSupervisor,
  statusOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

type Money = { readonly limitUsd: number | null; readonly spentUsd: number; readonly level: string };

const moneyOf = (repository: TestRepository, epic = 'a') =>
  orchJson<{ budget: Money }>(repository, ['session', 'status', '-e', epic]).budget;

/** A repository in which a supervised agent with a budget of $5 runs a line, and then goes on. */
function superviseAgent(repository: TestRepository, line: string) {
  writeConfig(repository, 'checkpoint: { stopGrace: 200ms }\n');
  const agent = writeScript(repository, 'agent', line, 'echo ready', 'while :; do sleep 0.1; done');
  return startSupervisor(repository, ['start', '-e', 'a', '--budget', '5', '--', agent]);
}

/** A script that calls orch, and leaves the status and what was said in the files `out` and `err`. */
function writeCall(repository: TestRepository, args: string): string {
  const { home } = repository;
  return writeScript(repository, 'call', `${callOrch(args)} >'${home}/err' 2>&1`, `echo $? >'${home}/out'`);
}

const clear = `env -i PATH='${process.env.PATH ?? ''}'`;
const ways: { readonly [way: string]: (call: string) => string } = {
  'as it is': (call) => call,
  'without ORCH_SESSION': (call) => `env -u ORCH_SESSION ${call}`,
  'with an empty ORCH_SESSION': (call) => `ORCH_SESSION= ${call}`,
  'with a cleared environment': (call) => `${clear} ${call}`,
  'in a session of its own': (call) => `setsid -w ${clear} ${call}`,
  'with its parent gone': (call) => `setsid -f ${clear} ${call}`,
  'with its parent gone, and the environment of that': (call) => `${clear} sh -c 'setsid -f ${call}'`,
};

describe.runIf(process.platform === 'linux')('I7: from inside a session', () => {
  it.each(Object.entries(ways))('the budget is not raised, however it is called (%s)', async (_, wrap) => {
    const repository = makeRepositoryWithCommit();
    const call = writeCall(repository, 'cost budget 1000 -e a --json');
    const orch = superviseAgent(repository, wrap(call));
    const status = await readWhenThere(join(repository.home, 'out'));
    const said = readFileSync(join(repository.home, 'err'), 'utf8');
    expect([status, said]).toEqual(['2', expect.stringContaining('BUDGET_REFUSED')]);
    expect(moneyOf(repository)).toMatchObject({ limitUsd: 5 });
    orch.signal('SIGTERM');
    await orch.ended;
  });
});

describe.runIf(process.platform === 'linux')('I7: what a session starts, it pays for:', () => {
  const nested = [
    'as it is',
    'without ORCH_SESSION',
    'with a cleared environment',
    'in a session of its own',
  ];
  it.each(nested)('another epic is no way around the budget (%s)', async (way) => {
    const repository = makeRepositoryWithCommit();
    const spend = writeScript(
      repository,
      'spend',
      callOrch('record cost 3'),
      callOrch('record cost 3'),
      'sleep 60',
    );
    const call = writeCall(repository, `start -e other --budget 1000 -- '${spend}'`);
    const orch = superviseAgent(repository, ways[way]?.(call) ?? '');
    expect(await orch.ended).toBe(4);
    expect(moneyOf(repository)).toMatchObject({ limitUsd: 5, spentUsd: 6 });
    expect(moneyOf(repository, 'other')).toMatchObject({ limitUsd: 1000, spentUsd: 6 });
  });

  it('a cost is not recorded for an epic that it does not pay for', async () => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['record', 'note', 'n', '-e', 'other']);
    const call = writeCall(repository, 'record cost 3 -e other --json');
    const orch = superviseAgent(repository, `${clear} ${call}`);
    const status = await readWhenThere(join(repository.home, 'out'));
    expect([status, readFileSync(join(repository.home, 'err'), 'utf8')]).toEqual([
      '2',
      expect.stringContaining('BUDGET_REFUSED'),
    ]);
    // From outside it is nobody else's business.
    expect(runOrch(repository, ['record', 'cost', '3', '-e', 'other']).status).toBe(0);
    orch.signal('SIGTERM');
    await orch.ended;
    expect(moneyOf(repository)).toMatchObject({ spentUsd: 0 });
  });
});

describe('I7: from another terminal', () => {
  it('the budget is raised and lowered while the session runs, and the session keeps to it', async () => {
    const repository = makeRepositoryWithCommit();
    const orch = superviseAgent(repository, '');
    await waitUntil(() => orch.stdout() === 'ready\n');
    expect(runOrch(repository, ['record', 'cost', '4', '-e', 'a']).status).toBe(0);
    expect(orchJson(repository, ['cost', 'budget', '20', '-e', 'a'])).toMatchObject({
      budget: { limitUsd: 20 },
    });
    expect(runOrch(repository, ['record', 'cost', '4', '-e', 'a']).status).toBe(0);
    expect(orchJson(repository, ['cost', 'budget', '+2', '-e', 'a'])).toMatchObject({
      budget: { limitUsd: 10 },
    });
    expect(orchJson(repository, ['cost', 'budget', 'none', '-e', 'a'])).toMatchObject({
      budget: { limitUsd: null },
    });
    expect(runOrch(repository, ['record', 'cost', '40', '-e', 'a']).status).toBe(0);
    expect(orchJson(repository, ['cost', 'budget', '60', '-e', 'a'])).toMatchObject({
      budget: { limitUsd: 60 },
    });
    expect(moneyOf(repository)).toMatchObject({ limitUsd: 60, spentUsd: 48 });
    expect(orch.stderr()).not.toContain('from outside orch');
    expect(runOrch(repository, ['record', 'cost', '12', '-e', 'a']).status).toBe(4);
    expect(await orch.ended).toBe(4);
  });
});

const folderOf = ({ folder }: TestRepository) => join(folder, '.git', 'orchestration', 'journal');

/** The journal of the session that runs. */
function journalOf(repository: TestRepository): string {
  return join(folderOf(repository), `${statusOf(repository, 'a').session.id}.jsonl`);
}

const usage = { micros: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unpriced: 0 };
const forge = (repository: TestRepository, ...facts: object[]) => {
  const at = Date.now() + 60_000;
  appendFileSync(journalOf(repository), facts.map((fact) => formatRecord({ at, fact })).join(''));
};

const forgeries: { readonly [what: string]: (repository: TestRepository, first: string) => void } = {
  'an older tip': (repository, first) => {
    repository.git('update-ref', 'refs/orchestration/epics/a', first);
  },
  'an older tip, and no journals': (repository, first) => {
    repository.git('update-ref', 'refs/orchestration/epics/a', first);
    for (const name of readdirSync(folderOf(repository))) {
      const path = join(folderOf(repository), name);
      truncateSync(path, readFileSync(path).indexOf('\n', 1));
    }
  },
  'a higher budget': (repository) => forge(repository, { kind: 'budget_set', limit: 1_000_000_000 }),
  'no budget': (repository) => forge(repository, { kind: 'budget_set', limit: null }),
  'a budget that is no number': (repository) => forge(repository, { kind: 'budget_set', limit: 'x' }),
  'a negative meter': (repository) =>
    forge(repository, { kind: 'meter', model: 'm', usage: { ...usage, micros: -4_000_000 } }),
  'a negative cost': (repository) =>
    forge(repository, { kind: 'cost', model: null, usage: { ...usage, micros: -4_000_000 } }),
  'a cost that is no number': (repository) =>
    forge(repository, { kind: 'meter', model: 'm', usage: { ...usage, micros: 'x' } }),
};

/** The others lower nothing by themselves: a meter's highest reading counts, and journals are read again. */
const noticed = ['an older tip, and no journals', 'a higher budget', 'no budget'];

describe('I7: what a supervisor knows of the money', () => {
  it.each(Object.entries(forgeries))('is not lowered by %s', async (what, tamper) => {
    const repository = makeRepositoryWithCommit();
    runOrch(repository, ['record', 'note', 'n', '-e', 'a']);
    const first = repository.git('rev-parse', 'refs/orchestration/epics/a');
    expect(runOrch(repository, ['record', 'cost', '3', '-e', 'a']).status).toBe(0);
    const orch = superviseAgent(repository, '');
    await waitUntil(() => orch.stdout() === 'ready\n');
    expect(runOrch(repository, ['record', 'cost', '1', '-e', 'a']).status).toBe(0);
    // What it has not seen, it cannot hold.
    await waitUntil(() => orch.stderr().includes('80% of the budget'));
    tamper(repository, first);
    if (noticed.includes(what)) await waitUntil(() => orch.stderr().includes('changed from outside orch'));
    runOrch(repository, ['record', 'cost', '1', '-e', 'a']);
    expect(await orch.ended).toBe(4);
    expect(orch.stderr()).toContain('Budget used up');
  });
});
