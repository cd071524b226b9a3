import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makePlanned, ranIn, readRan } from '../support/plans.ts';
import type { TestRepository } from '../support/repository.ts';
import { writeConfig } from '../support/supervised.ts';

const variable = (name: string) => `\${${name}}`;

/** A plan whose effect cannot be done while the file `closed` is there. */
const closedPlan = (word: string, more = '') =>
  `name: p
tasks:
  - id: send
    run: echo run >> $RAN
    retry: { attempts: 1 }
    effects:
      - { id: mail, run: "test ! -e closed || exit 75; echo ${word} $ORCH_IDEMPOTENCY_KEY >> $RAN"${more} }
      - { id: note, run: "echo note ${word} >> $RAN" }
`;

function makeClosed(): TestRepository {
  const repository = makePlanned(closedPlan('first'));
  repository.write('closed', '');
  expect(run(repository).status).toBe(75);
  rmSync(join(repository.folder, 'closed'));
  return repository;
}

const run = (repository: TestRepository, ...args: string[]) =>
  runOrch(repository, ['run', 'plan.yaml', ...args], ranIn(repository));

type Planned = {
  effects: { id: string; key: string; digest: string; content: unknown; whole: boolean }[];
};

function readPlanned({ git }: TestRepository): Planned {
  const paths = git('ls-tree', '-r', '--name-only', 'refs/orchestration/epics/e').split('\n');
  const path = paths.find((each) => each.endsWith('/planned-writeback.json'));
  return JSON.parse(git('show', `refs/orchestration/epics/e:${path}`));
}

describe('what an effect was planned to send', () => {
  it('is in planned-writeback.json; with another plan now, the user chooses which is sent', () => {
    const repository = makeClosed();
    const [mail, note] = readPlanned(repository).effects;
    expect(mail).toMatchObject({ id: 'mail', whole: true });
    expect(mail?.content).toMatchObject({ kind: 'command', run: { kind: 'shell' } });
    expect(JSON.stringify(mail?.content)).toContain('echo first');
    repository.write('plan.yaml', closedPlan('second'));
    const asked = run(repository, '--resume');
    expect(asked.status).toBe(3);
    expect(asked.stderr).toContain('effect note was changed before it was tried: it is sent as it is now\n');
    expect(asked.stderr).toContain(`mail: it was tried as ${mail?.digest}, and is now `);
    expect(asked.stderr).toContain('Send it as planned: --as-planned mail.');
    expect(readRan(repository), 'nothing was sent, and its task does not run again').toEqual(['run']);
    const sent = run(repository, '--resume', '--as-planned', 'mail');
    expect(sent.status).toBe(0);
    expect(readRan(repository)).toEqual(['run', `first ${mail?.key}`, 'note second']);
    expect(note?.id).toBe('note');
  });

  it('is replayed under its key when the plan is put back, and sent anew with --replan', () => {
    const repository = makeClosed();
    const [mail] = readPlanned(repository).effects;
    repository.write('plan.yaml', closedPlan('second'));
    expect(run(repository, '--resume').status).toBe(3);
    repository.write('plan.yaml', closedPlan('first'));
    expect(run(repository, '--resume').status).toBe(0);
    expect(readRan(repository)).toEqual(['run', `first ${mail?.key}`, 'note first']);
    const other = makeClosed();
    const [planned] = readPlanned(other).effects;
    other.write('plan.yaml', closedPlan('second'));
    expect(run(other, '--resume', '--replan', 'mail').status).toBe(0);
    expect(readRan(other)[1]).toMatch(/^second orch-/);
    expect(readRan(other)[1]).not.toContain(planned?.key);
  });

  it('is sent from the record only in the clone that planned it', () => {
    const repository = makeClosed();
    repository.write('plan.yaml', closedPlan('second'));
    const { runs } = orchJson<{ runs: { id: string }[] }>(repository, ['run', '--list', '-e', 'e']);
    rmSync(join(repository.folder, '.git/orchestration/logs', runs[0]?.id ?? '', 'planned'));
    const refused = run(repository, '--resume', '--as-planned', 'mail');
    expect(refused.status).toBe(3);
    expect(refused.stderr).toContain(
      'mail: another clone planned it. To send it as planned, change the plan back to what it was.',
    );
    expect(readRan(repository)).toEqual(['run']);
  });

  it('I8: is kept without its secrets and with the names of variables; then it cannot be sent from there', () => {
    // Put together here, so that this file holds none.
    const secret = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
    const hidden = 'hidden-word';
    const plan = (word: string) => `name: p
tasks:
  - id: send
    retry: { attempts: 1 }
    effects:
      - { id: mail, run: "test ! -e closed || exit 75; echo ${word} ${secret} > /dev/null" }
      - id: post
        request:
          url: "http://me:${hidden}@127.0.0.1:1/x"
          headers: { Authorization: "Bearer ${variable('TOKEN')}", X-Api-Key: plain-words }
          body: { text: hello }
`;
    const repository = makePlanned(plan('first'));
    repository.write('closed', '');
    const { env } = ranIn(repository);
    const start = (...args: string[]) =>
      runOrch(repository, ['run', 'plan.yaml', ...args], { env: { ...env, TOKEN: 'value-of-the-token' } });
    expect(start().status).toBe(75);
    rmSync(join(repository.folder, 'closed'));
    const planned = readPlanned(repository);
    expect(planned.effects.map(({ whole }) => whole)).toEqual([false, false]);
    expect(planned.effects[1]?.content).toEqual({
      kind: 'request',
      request: {
        method: 'POST',
        url: 'http://me:***@127.0.0.1:1/x',
        headers: { Authorization: `Bearer ${variable('TOKEN')}`, 'X-Api-Key': '***' },
        body: { text: 'hello' },
      },
    });
    const kept = repository.git('log', '-p', 'refs/orchestration/epics/e');
    for (const word of [secret, hidden, 'plain-words', 'value-of-the-token'])
      expect(kept).not.toContain(word);
    repository.write('plan.yaml', plan('second'));
    expect(start('--resume', '--as-planned', 'mail').stderr).toContain(
      'mail: its payload was recorded without something that looks like a secret. To send it as planned, change the plan back to what it was.',
    );
  });

  it.each([
    [['--replan', 'mail'], '--replan is about effects of an earlier run'],
    [['--resume', '--replan', 'mial'], 'p has no effect "mial"; did you mean mail?'],
    [['--resume', '--replan', 'mail', '--done', 'mail'], 'effect mail is named twice'],
  ])('refuses %j', (args, message) => {
    const repository = makeClosed();
    const refused = run(repository, ...args);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain(message);
    expect(readRan(repository)).toEqual(['run']);
  });
});

it('a task is done, and says so in a checkpoint, once its effects are done too', () => {
  const repository = makePlanned(`name: p
tasks:
  - id: send
    run: echo x > made
    artifacts: [made]
    retry: { attempts: 1 }
    effects: [{ id: mail, run: "test ! -e closed || exit 75" }]
`);
  repository.write('closed', '');
  const summaries = () => repository.git('log', '--format=%s', 'refs/orchestration/epics/e').split('\n');
  expect(run(repository).status).toBe(75);
  expect(summaries().filter((line) => line.includes('Task done'))).toEqual([]);
  rmSync(join(repository.folder, 'closed'));
  expect(run(repository, '--resume').status).toBe(0);
  expect(summaries().filter((line) => line.includes('Task done: send'))).toHaveLength(1);
});

it('--resume --dry-run shows what is left, and does nothing', () => {
  const repository = makeClosed();
  const dry = run(repository, '--resume', '--dry-run');
  expect(dry.status).toBe(0);
  expect(dry.stdout.replace(/run-\w+/, 'RUN').replace(/: (test|echo).*? \(/g, ': … (')).toBe(
    [
      'p: 1 task, 2 effects left of RUN on e; nothing was run',
      '  1/1   send  its effects only',
      '  effect mail of send: … (no check)',
      '  effect note of send: … (no check)',
      '',
    ].join('\n'),
  );
  expect(readRan(repository)).toEqual(['run']);
  expect(run(repository, '--resume').status).toBe(0);
  expect(run(repository, '--resume', '--dry-run').stdout).toBe(
    'p: its last run succeeded; nothing left to do\n',
  );
});

describe('--require-green', () => {
  it('begins nothing unless the gates are green', () => {
    const repository = makePlanned(
      'name: p\ntasks: [{ id: a, effects: [{ id: send, run: echo sent >> $RAN }] }]\n',
    );
    writeConfig(repository, 'gates: [{ name: ready, run: test -e ready }]\n');
    const unapproved = run(repository, '--require-green');
    expect(unapproved.status).toBe(3);
    expect(unapproved.stderr).toContain('the gates are not approved in this clone, so they did not run\n');
    const { env } = ranIn(repository);
    const start = () =>
      runOrch(repository, ['run', 'plan.yaml', '--require-green'], { env: { ...env, ORCH_TRUST: '1' } });
    const red = start();
    expect(red.status).toBe(3);
    expect(red.stderr).toContain('the gates are red: ready; nothing was started\n');
    expect(readRan(repository)).toEqual([]);
    repository.write('ready', '');
    expect(start().status).toBe(0);
    expect(readRan(repository)).toEqual(['sent']);
  });
});
