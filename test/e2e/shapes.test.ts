import { describe, expect, it } from 'vitest';
import { startInBackground } from '../support/background.ts';
import { save } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { shapeOf } from '../support/shapes.ts';

const session = {
  id: 'string',
  epicId: 'string',
  number: 'number',
  status: 'string',
  agent: 'null',
  writer: 'string',
  host: 'string',
  parentSessionId: 'null',
  startedAt: 'string',
  endedAt: 'null',
  costUsd: 'number',
  checkpointCount: 'number',
  latestCheckpointId: 'string',
};
const ended = { ...session, endedAt: 'string' };
const atWork = {
  sessionId: 'string',
  number: 'number',
  agent: 'null',
  status: 'string',
  startedAt: 'string',
  waiting: 'null',
};
const checkpoint = {
  id: 'string',
  seq: 'number',
  commit: 'string',
  epicId: 'string',
  sessionId: 'string',
  sessionNumber: 'number',
  timestamp: 'string',
  trigger: 'string',
  reason: 'null',
  summary: 'string',
  costUsd: 'number',
  gates: 'string',
  snapshot: 'string',
  notSaved: 'null',
};
const budget = {
  limitUsd: 'number',
  spentUsd: 'number',
  remainingUsd: 'number',
  percent: 'number',
  level: 'string',
};
const noBudget = {
  limitUsd: 'null',
  spentUsd: 'number',
  remainingUsd: 'null',
  percent: 'null',
  level: 'string',
};
const recorded = { epicId: 'string', sessionId: 'string', at: 'string', kind: 'string' };
const usage = {
  input: 'number',
  output: 'number',
  cacheRead: 'number',
  cacheWrite: 'number',
  unpriced: 'number',
};

/** What a script may rely on; a key that is renamed, added or gone is seen here. */
describe('the JSON of', () => {
  it('record, for every kind, outside a session and in one', () => {
    const repository = makeRepositoryWithCommit();
    const read = (...args: string[]) => shapeOf(orchJson(repository, ['record', ...args, '-e', 'x']));
    expect(read('note', 'n')).toEqual({
      event: { ...recorded, id: 'string', text: 'string' },
      budget: noBudget,
      checkpoint,
    });
    startInBackground(repository, 'x', '--budget', '20');
    const event = (part: object) => ({ event: { ...recorded, ...part }, budget, checkpoint: 'null' });
    expect(read('tried', 't', '--why', 'w')).toEqual(event({ id: 'string', text: 'string', why: 'string' }));
    const question = { id: 'string', text: 'string', answer: 'null', resolvedAt: 'null' };
    expect(read('question', 'q')).toEqual(event(question));
    expect(read('question', 'q', '--answer', 'a')).toEqual({
      ...event({ ...question, answer: 'string', resolvedAt: 'number' }),
      events: [{ ...recorded, id: 'string', text: 'string', rationale: 'null', by: 'string' }],
    });
    expect(read('decision', 'd', '--rationale', 'r')).toEqual(
      event({ id: 'string', text: 'string', rationale: 'string' }),
    );
    expect(read('blocker', 'b')).toEqual(event({ id: 'string', text: 'string', resolvedAt: 'null' }));
    expect(read('blocker', 'b', '--resolve')).toEqual(
      event({ id: 'string', text: 'string', resolvedAt: 'number' }),
    );
    expect(read('issue', 'I1', 'title', '--severity', 'high', '--location', 'a.ts')).toEqual(
      event({ id: 'string', title: 'string', status: 'string', severity: 'string', location: 'string' }),
    );
    expect(read('task', 't')).toEqual(event({ key: 'string', value: { text: 'string', status: 'string' } }));
    expect(read('test', '--passed', '1', '--failed', '1', 'name')).toEqual(
      event({
        key: 'string',
        value: {
          status: 'string',
          passed: 'number',
          failed: 'number',
          total: 'number',
          failing: ['string'],
          text: 'null',
        },
      }),
    );
    expect(read('cost', '1', '--model', 'm')).toEqual(
      event({ model: 'string', usage: { micros: 'number', ...usage } }),
    );
    const file = {
      path: 'string',
      change: 'string',
      added: 'null',
      removed: 'null',
      priority: 'null',
      why: 'null',
    };
    expect(read('file', 'a')).toEqual(event(file));
    expect(read('file', 'a', 'b')).toEqual({ ...event(file), events: [{ ...recorded, ...file }] });
    expect(shapeOf(orchJson(repository, ['cost', 'budget', '30']))).toEqual(event({ limit: 'number' }));
    expect(shapeOf(orchJson(repository, ['session', 'status']))).toEqual({
      epicId: 'string',
      session,
      checkpoint,
      budget,
      pendingEvents: 'number',
      context: 'null',
      questions: [],
      agents: [atWork],
    });
  });

  it('status, log, cost, brief and lists', () => {
    const repository = makeRepositoryWithCommit();
    for (const args of [
      ['cost', 'budget', '20'],
      ['record', 'cost', '1', '-m', 'm'],
      ['record', 'note', 'n'],
    ])
      expect(runOrch(repository, [...args, '-e', 'x']).status).toBe(0);
    const read = (...args: string[]) => shapeOf(orchJson(repository, args));
    const status = {
      epicId: 'string',
      session: ended,
      checkpoint,
      budget,
      pendingEvents: 'number',
      context: 'null',
      questions: [],
      agents: [],
    };
    expect(read('status')).toEqual({ epics: [status], waiting: [], faults: [] });
    expect(read('session', 'status', '-e', 'x')).toEqual(status);
    const logged = {
      ...checkpoint,
      figures: 'string',
      spentUsd: 'number',
      isAbandoned: 'boolean',
      isCodeLost: 'boolean',
    };
    const told = { asked: [], result: 'null', commits: [] };
    const seen = { fate: 'string', seenAt: 'string', reason: 'null', machine: 'null' };
    expect(read('log', 'x')).toEqual({
      epicId: 'string',
      sessions: [{ ...ended, ...told, ...seen }],
      checkpoints: [logged],
      total: 'number',
    });
    expect(read('session', 'list')).toEqual({ sessions: [ended] });
    for (const noun of ['session', 'checkpoint'])
      expect(read(noun, 'list', '-e', 'x')).toEqual({
        epicId: 'string',
        checkpoints: [checkpoint],
        total: 'number',
      });
    expect(read('cost', 'status', '-e', 'x')).toEqual({
      budget,
      bySession: [{ sessionId: 'string', number: 'number', costUsd: 'number' }],
      byModel: [{ model: 'string', costUsd: 'number' }],
      burnPerHourUsd: 'null',
      lastsUntil: 'null',
      unpriced: [],
      raised: 'null',
    });
    expect(read('cost', 'report', '-e', 'x')).toEqual({
      epicId: 'string',
      totalUsd: 'number',
      byDay: [{ day: 'string', costUsd: 'number' }],
      bySession: [{ sessionId: 'string', number: 'number', costUsd: 'number' }],
      byModel: [{ model: 'string', costUsd: 'number', ...usage }],
      budget,
      burnPerHourUsd: 'null',
    });
    expect(read('brief', '-e', 'x')).toEqual({
      brief: 'string',
      tokens: 'number',
      sections: [
        {
          name: 'string',
          label: 'string',
          lead: 'null',
          items: [{ key: 'null', text: 'string', from: 'null' }],
          leftOut: 'number',
        },
      ],
      from: { id: 'string', number: 'number' },
      handedOverTo: 'null',
    });
    const asJson = runOrch(repository, ['brief', '-e', 'x', '--format', 'json']);
    expect(JSON.parse(asJson.stdout)).toEqual(orchJson(repository, ['brief', '-e', 'x']));
  });

  it('what a session in the background printed, the version, and a script for the shell', () => {
    const repository = makeRepositoryWithCommit();
    startInBackground(repository, 'x');
    runOrch(repository, ['checkpoint', 'create', '-e', 'x']);
    expect(shapeOf(orchJson(repository, ['session', 'logs']))).toEqual({ session, log: 'string' });
    runOrch(repository, ['session', 'pause', '-e', 'x']);
    const followed = orchJson(repository, ['session', 'logs', '-e', 'x', '--follow']);
    expect(followed).toMatchObject({ session: { status: 'paused' }, log: expect.any(String) });
    expect(shapeOf(orchJson(repository, ['--version']))).toEqual({ version: 'string' });
    expect(shapeOf(orchJson(repository, ['completion', 'zsh']))).toEqual({
      shell: 'string',
      script: 'string',
    });
  });

  it('run, and the list of runs', () => {
    const repository = makeRepositoryWithCommit();
    const effect = '{ id: tag, run: "true" }';
    repository.write('plan.yaml', `tasks: [{ id: build, run: "true", effects: [${effect}] }]`);
    const read = (...args: string[]) => shapeOf(orchJson(repository, ['run', ...args, '-e', 'x']));
    const head = {
      id: 'string',
      name: 'string',
      status: 'string',
      epicId: 'string',
      from: 'null',
      startedAt: 'string',
    };
    expect(read('plan.yaml')).toEqual({
      run: {
        ...head,
        tasks: [{ id: 'string', number: 'number', name: 'string', status: 'string', attempts: 'number' }],
        effects: [{ id: 'string', key: 'string', status: 'string' }],
      },
    });
    expect(read('--list')).toEqual({ epicId: 'string', runs: [head] });
    const task = {
      id: 'string',
      number: 'number',
      name: 'string',
      needs: [],
      when: 'string',
      files: [],
      artifacts: [],
      parent: 'null',
      waits: [],
    };
    expect(read('plan.yaml', '--dry-run')).toEqual({
      plan: {
        name: 'string',
        digest: 'string',
        tasks: [task],
        batches: [['string']],
        effects: [{ id: 'string', task: 'string', what: 'string', hasCheck: 'boolean' }],
      },
    });
  });

  it('bisect', async () => {
    const repository = makeRepositoryWithCommit();
    await save(repository, ['one']);
    repository.write('broken', 'x\n');
    await save(repository, ['two']);
    const ran = runOrch(repository, ['bisect', '-e', 'x', '--json', '--', 'test', '!', '-e', 'broken']);
    const saved = { ...checkpoint, reason: 'string' };
    const evidence = { from: 'string', why: 'string', output: 'string' };
    expect(shapeOf(JSON.parse(ran.stdout))).toEqual({
      bisect: {
        epicId: 'string',
        gate: 'null',
        command: ['string'],
        status: 'string',
        firstBad: saved,
        lastGood: saved,
        candidates: [saved],
        evidence: { firstBad: evidence, lastGood: evidence },
        session: { id: 'string', number: 'number', agent: 'null' },
        asked: 'null',
        diff: {
          files: 'number',
          additions: 'number',
          deletions: 'number',
          changed: [{ path: 'string', status: 'string', additions: 'number', deletions: 'number' }],
          command: 'string',
        },
        costUsd: 'number',
        tries: [{ checkpoint: saved, result: 'string', durationMs: 'number', from: 'string', why: 'string' }],
        skipped: [],
        withoutCode: 'number',
        elapsedMs: 'number',
      },
    });
  });
});
