import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OrchError } from '../../src/errors.ts';
import { type PerformPorts, performEffects } from '../../src/plan/effects/perform.ts';
import { type EarlierEffects, type EffectFact, planEffects } from '../../src/plan/effects/plan-effects.ts';
import type { Action, Check, Effect, Task } from '../../src/plan/plan.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { type Behaviour, type EffectServer, startEffectServer } from '../support/effect-server.ts';
import { makeFolder } from '../support/repository.ts';

const post = (server: EffectServer, path: string, headers: Record<string, string> = {}): Action => ({
  kind: 'request',
  request: { method: 'POST', url: `${server.url}${path}`, headers, body: { path } },
});
const shell = (line: string): Action => ({ kind: 'command', run: { kind: 'shell', line } });
const checked = (line: string): Check => ({ kind: 'command', run: { kind: 'shell', line } });
const effect = (id: string, action: Action, check: Check | null = null): Effect => ({
  id,
  action,
  check,
  digest: id,
});

type Performing = {
  readonly effects: readonly Effect[];
  readonly task?: Partial<Task>;
  readonly ports?: Partial<PerformPorts>;
  /** An earlier process planned them, and may have tried. */
  readonly replay?: 'here' | 'elsewhere';
};

/** Performs effects as the task of a run does, with pauses of a few milliseconds. */
async function perform({ effects, task = {}, ports = {}, replay }: Performing) {
  const cwd = makeFolder();
  const tasks = [{ id: 'publish', effects }];
  const facts: EffectFact[] = [];
  const tried: EffectFact[] = [];
  const output: string[] = [];
  const said: string[] = [];
  const first = planEffects(tasks, 'run-aaaa');
  const carried: EarlierEffects = {
    effects: Object.fromEntries(
      first.planned.map(({ record }) => [record.id, { ...record, tried: 'here' as const }]),
    ),
    isElsewhere: replay === 'elsewhere',
  };
  const { planned } = replay ? planEffects(tasks, 'run-aaaa', carried) : first;
  const outcome = await performEffects(
    {
      clock: realClock,
      random: realRandom,
      cwd,
      env: { PATH: process.env.PATH, ...ports.env },
      signal: new AbortController().signal,
      onOutput: (text) => output.push(text),
      onNote: (line) => said.push(line),
      record: async (fact) => {
        (isOnlyTried(fact) ? tried : facts).push(fact);
      },
      ...ports,
    },
    { env: {}, timeout: null, effectRetry: { attempts: 3, backoff: 2 }, ...task },
    planned,
  );
  const keys = planned.map(({ record }) => record.key);
  return { outcome, facts, tried, output: output.join(''), said, keys, cwd };
}

/** Does it say no more than that an effect is about to be tried? */
function isOnlyTried({ status, reason }: EffectFact): boolean {
  return status === 'planned' && reason === null;
}

/** Behaves as told the first times, then well. */
const first =
  (...behaviours: Behaviour[]) =>
  (_: unknown, nth: number): Behaviour =>
    behaviours[nth - 1] ?? { status: 201 };

describe('the effects of a task', () => {
  it('are done in their order, each known to be tried before it is, and acknowledged before the next', async () => {
    const server = await startEffectServer();
    const order: string[] = [];
    const effects = ['/one', '/two', '/three'].map((path) => effect(path, post(server, path)));
    const { outcome, keys } = await perform({
      effects,
      ports: {
        record: async ({ id, status }) => {
          await new Promise((later) => setImmediate(later));
          order.push(`${status} ${id} after ${server.received.length}`);
        },
      },
    });
    expect(outcome).toEqual({ kind: 'done' });
    expect(order).toEqual(
      ['/one', '/two', '/three'].flatMap((id, index) => [
        `planned ${id} after ${index}`,
        `acknowledged ${id} after ${index + 1}`,
      ]),
    );
    expect(server.received.map(({ key }) => key)).toEqual(keys);
    expect(server.received[0]).toMatchObject({ method: 'POST', body: '{"path":"/one"}' });
    expect(server.received[0]?.headers['content-type']).toBe('application/json');
  });

  it('end with the first that cannot be done: those behind it are not tried', async () => {
    const server = await startEffectServer(({ path }) => ({
      status: path === '/two' ? 422 : 200,
      body: 'no',
    }));
    const effects = ['/one', '/two', '/three'].map((path) => effect(path, post(server, path)));
    const { outcome, facts } = await perform({ effects });
    expect(outcome).toEqual({ kind: 'blocked', effect: '/two', reason: 'answered 422: no' });
    expect(server.applied).toEqual(['/one']);
    expect(facts.map(({ id, status, reason }) => [id, status, reason])).toEqual([
      ['/one', 'acknowledged', null],
      ['/two', 'blocked', 'answered 422: no'],
    ]);
  });

  it('are not tried further where an acknowledgement could not be written', async () => {
    const server = await startEffectServer();
    const effects = ['/one', '/two'].map((path) => effect(path, post(server, path)));
    const full = new OrchError('WRITE_FAILED', 'the disk is full');
    const record = async (fact: EffectFact) => {
      if (!isOnlyTried(fact)) throw full;
    };
    await expect(perform({ effects, ports: { record } })).rejects.toBe(full);
    expect(server.applied).toEqual(['/one']);
  });
});

describe('a server in trouble', () => {
  it.each<[string, Behaviour[]]>([
    ['fails', [{ status: 503 }, { status: 500 }]],
    ['has too much to do', [{ status: 429, headers: { 'Retry-After': '0' } }]],
    ['breaks off before it did anything', ['refuses', 'refuses']],
    ['breaks off after it did it', ['drops']],
    ['half answers', ['half-answers']],
    ['answers with what is no HTTP', ['babbles']],
  ])('that %s is asked again with the same key', async (_, behaviours) => {
    const server = await startEffectServer(first(...behaviours));
    const { outcome, facts, keys, said } = await perform({
      effects: [effect('send', post(server, '/send'))],
    });
    expect(outcome).toEqual({ kind: 'done' });
    expect(server.received.map(({ key }) => key)).toEqual(Array(behaviours.length + 1).fill(keys[0]));
    expect(server.applied).toEqual(['/send']);
    expect(facts.map(({ status }) => status)).toEqual(['acknowledged']);
    expect(said).toHaveLength(behaviours.length);
  });

  it('that never answers is given up after the task’s time, and the run can be resumed', async () => {
    const server = await startEffectServer(() => 'hangs');
    const effects = [effect('send', post(server, '/send'))];
    const task = { timeout: 100, effectRetry: { attempts: 2, backoff: 1 } };
    const { outcome, facts } = await perform({ effects, task });
    const reason = 'no complete answer within 0.1 s (2 attempts)';
    expect(outcome).toEqual({ kind: 'resume_needed', effect: 'send', reason, retryAt: null });
    expect(facts).toMatchObject([{ id: 'send', status: 'planned', reason }]);
  });

  it('that asks for more patience than a run has is told when it will be asked', async () => {
    const server = await startEffectServer(() => ({ status: 429, headers: { 'Retry-After': '7200' } }));
    const before = realClock.now();
    const { outcome } = await perform({ effects: [effect('send', post(server, '/send'))] });
    if (outcome.kind !== 'resume_needed') throw new Error(`it is ${outcome.kind}`);
    expect(outcome.reason).toMatch(/^answered 429; not before \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(outcome.retryAt).toBeGreaterThanOrEqual(before + 7_200_000);
    expect(server.received).toHaveLength(1);
  });

  it('that is not there is asked again, and then the run can be resumed', async () => {
    const action = post({ url: 'http://127.0.0.1:1' } as EffectServer, '/x'); // a port that nobody may listen on
    const { outcome } = await perform({ effects: [effect('send', action)] });
    const reason = 'the connection was refused (3 attempts)';
    expect(outcome).toEqual({ kind: 'resume_needed', effect: 'send', reason, retryAt: null });
  });

  it.each<[number, string]>([
    [301, 'answered 301: moved to http://127.0.0.1/other; redirects are not followed'],
    [404, 'answered 404'],
    [409, 'conflict: answered 409'],
    [412, 'conflict: answered 412'],
  ])('that answers %d blocks it at once', async (status, reason) => {
    const headers = { Location: 'http://127.0.0.1/other' };
    const server = await startEffectServer(() => ({ status, headers }));
    const { outcome } = await perform({ effects: [effect('send', post(server, '/send'))] });
    expect(outcome).toEqual({ kind: 'blocked', effect: 'send', reason });
    expect(server.received).toHaveLength(1);
  });

  it.each(['ftp://127.0.0.1/x', 'nonsense', 'http://'])('cannot be at %s', async (url) => {
    const action: Action = { kind: 'request', request: { method: 'POST', url, headers: {}, body: null } };
    const { outcome } = await perform({ effects: [effect('send', action)] });
    expect(outcome).toMatchObject({ kind: 'blocked', reason: `${url} is not a web address` });
  });

  it('I8: sees secrets, but nobody else does', async () => {
    const server = await startEffectServer(({ headers }) => ({
      status: 401,
      body: `who is ${headers.authorization}?`,
    }));
    const headers = { Authorization: `Bearer \${TOKEN}`, 'idempotency-key': 'mine' };
    const result = await perform({
      effects: [effect('send', post(server, '/send', headers))],
      task: { env: { TOKEN: 'very-secret-value' } },
    });
    expect(server.received[0]?.headers.authorization).toBe('Bearer very-secret-value');
    expect(server.received[0]?.key).toBe(result.keys[0]);
    expect(result.outcome).toMatchObject({ kind: 'blocked', reason: 'answered 401: who is *** ***?' });
    expect(JSON.stringify(result)).not.toContain('very-secret-value');
  });
});

describe('what may have been done before', () => {
  it('is asked for first, and not done again where the check says so', async () => {
    const server = await startEffectServer();
    const effects = [effect('send', post(server, '/send'), checked('exit 0'))];
    const { outcome, facts, said } = await perform({ effects, replay: 'here' });
    expect(outcome).toEqual({ kind: 'done' });
    expect(server.received).toEqual([]);
    expect(facts).toMatchObject([{ id: 'send', status: 'acknowledged' }]);
    expect(said).toEqual(['send: already done']);
  });

  it('is done where the check says no', async () => {
    const server = await startEffectServer();
    const { outcome } = await perform({
      effects: [effect('send', post(server, '/send'), checked('exit 1'))],
      replay: 'here',
    });
    expect(outcome).toEqual({ kind: 'done' });
    expect(server.applied).toEqual(['/send']);
  });

  it.each<[string, string, string]>([
    ['exit 75', 'resume_needed', 'its check gave no answer: exited 75'],
    ['no-such-program', 'blocked', 'its check gave no answer: exited 127'],
  ])('is left alone where the check cannot tell (%s)', async (line, kind, reason) => {
    const server = await startEffectServer();
    const effects = [effect('send', post(server, '/send'), checked(line))];
    const { outcome } = await perform({ effects, replay: 'here' });
    expect(outcome).toMatchObject({ kind, reason });
    expect(server.received).toEqual([]);
  });

  it('is asked for too when a connection broke off: nothing is sent twice that was applied', async () => {
    const server = await startEffectServer(() => 'drops');
    const asked: string[] = [];
    const check: Check = {
      kind: 'function',
      isDone: async (key) => {
        asked.push(key);
        return server.applied.length > 0;
      },
    };
    const { outcome, keys } = await perform({ effects: [effect('send', post(server, '/send'), check)] });
    expect(outcome).toEqual({ kind: 'done' });
    expect(server.countOf(keys[0] ?? '')).toBe(1);
    expect(asked).toEqual(keys);
  });

  it('is no conflict where the check says that it was done', async () => {
    const server = await startEffectServer(() => ({ status: 409, body: 'exists' }));
    const { outcome, said } = await perform({
      effects: [effect('send', post(server, '/send'), checked('exit 0'))],
    });
    expect(outcome).toEqual({ kind: 'done' });
    expect(said).toEqual(['send: conflict: answered 409: exists; its check says it was done']);
  });

  it('is sent again with the same key where it has no check', async () => {
    const server = await startEffectServer();
    const effects = [effect('send', post(server, '/send'))];
    const before = await perform({ effects });
    const after = await perform({ effects, replay: 'here' });
    expect(after.keys).toEqual(before.keys);
    expect(server.countOf(before.keys[0] ?? '')).toBe(2);
    expect(server.applied).toEqual(['/send']);
  });

  it('on another machine needs a check or a request’s key', async () => {
    const server = await startEffectServer();
    const blocked = await perform({ effects: [effect('run', shell('true'))], replay: 'elsewhere' });
    expect(blocked.outcome).toEqual({
      kind: 'blocked',
      effect: 'run',
      reason:
        'another clone may have done it, and it has no check to find out. If it was done: --done run. If not: --replan run',
    });
    const able = [effect('send', post(server, '/send')), effect('run', shell('true'), checked('exit 1'))];
    expect((await perform({ effects: able, replay: 'elsewhere' })).outcome).toEqual({ kind: 'done' });
  });
});

describe('a command', () => {
  it('gets its key, the task’s environment, and prints to the log', async () => {
    const line = 'echo "$ORCH_IDEMPOTENCY_KEY $COLOUR"; echo oh >&2';
    const { outcome, output, keys } = await perform({
      effects: [effect('run', shell(line))],
      task: { env: { COLOUR: 'blue' } },
    });
    expect(outcome).toEqual({ kind: 'done' });
    expect(output.split('\n').sort()).toEqual(['', `${keys[0]} blue`, 'oh'].sort());
  });

  it('is tried again when it exits 75, and blocked when it exits otherwise', async () => {
    const line = 'echo x >> tried; [ $(wc -l < tried) -ge 3 ] || exit 75';
    const again = await perform({ effects: [effect('run', shell(line))] });
    expect(again.outcome).toEqual({ kind: 'done' });
    expect(readFileSync(join(again.cwd, 'tried'), 'utf8')).toBe('x\nx\nx\n');
    const blocked = await perform({ effects: [effect('run', shell('exit 4'))] });
    expect(blocked.outcome).toEqual({ kind: 'blocked', effect: 'run', reason: 'exited 4' });
    const missing: Action = { kind: 'command', run: { kind: 'program', argv: ['no-such-program'] } };
    expect((await perform({ effects: [effect('run', missing)] })).outcome).toMatchObject({
      kind: 'blocked',
      reason: 'no-such-program: not found',
    });
  });

  it('is ended with all it started when it takes too long', async () => {
    const { outcome } = await perform({
      effects: [effect('run', shell('sleep 300 & sleep 300'))],
      task: { timeout: 200 },
    });
    expect(outcome).toMatchObject({ kind: 'blocked', reason: 'timed out and was ended' });
  });

  it('is ended by the signal, and nothing else is begun', async () => {
    const stop = new AbortController();
    const effects = [effect('run', shell('echo begun; sleep 300')), effect('next', shell('echo next'))];
    const { outcome, facts, output } = await perform({
      effects,
      ports: {
        signal: stop.signal,
        onOutput: () => stop.abort(),
      },
    });
    expect(outcome).toEqual({ kind: 'stopped', effect: 'run' });
    expect(facts).toEqual([]);
    expect(output).toBe('');
  });
});

describe('a function', () => {
  const fail = (error: unknown): Action => ({ kind: 'function', perform: () => Promise.reject(error) });

  it('gets the key, and is tried again when the network failed it', async () => {
    const keys: string[] = [];
    const action: Action = {
      kind: 'function',
      perform: async (key) => {
        keys.push(key);
        if (keys.length < 3) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
      },
    };
    const result = await perform({ effects: [effect('call', action)] });
    expect(result.outcome).toEqual({ kind: 'done' });
    expect(keys).toEqual(Array(3).fill(result.keys[0]));
  });

  it('can ask to be called another time, or say that it cannot be done', async () => {
    const later = new OrchError('RESUME_NEEDED', 'the desk is closed');
    expect((await perform({ effects: [effect('call', fail(later))] })).outcome).toMatchObject({
      kind: 'resume_needed',
      reason: 'the desk is closed (3 attempts)',
    });
    expect((await perform({ effects: [effect('call', fail(new Error('no such desk')))] })).outcome).toEqual({
      kind: 'blocked',
      effect: 'call',
      reason: 'no such desk',
    });
  });
});
