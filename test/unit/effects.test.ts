import { describe, expect, it } from 'vitest';
import {
  describeAction,
  fillIn,
  findUnsetVariables,
  hideSecrets,
  isAddress,
} from '../../src/plan/action-text.ts';
import {
  type EarlierEffects,
  type EffectPlan,
  listOpenEffects,
  noEarlierEffects,
  planEffects,
  planRunEffects,
} from '../../src/plan/effects/plan-effects.ts';
import type { Action, Effect, Request } from '../../src/plan/plan.ts';

const run = 'run-aaaa';
/** An effect as written in a plan. */
const variable = (name: string) => `\${${name}}`;
const command: Action = { kind: 'command', run: { kind: 'shell', line: 'true' } };

function effect(id: string, digest = 'as written', action = command): Effect {
  return { id, action, check: null, digest };
}

function request(more: Partial<Request> = {}): Action {
  const whole = { method: 'POST', url: 'http://127.0.0.1/x', headers: {}, body: null, ...more };
  return { kind: 'request', request: whole };
}

const task = (id: string, ...effects: Effect[]) => ({ id, effects, env: {} });

/** What the next session knows of the effects, some of them acknowledged or blocked. */
function carry(
  { planned }: EffectPlan,
  told: { [id: string]: 'acknowledged' | 'blocked' } = {},
): EarlierEffects {
  const effects = planned.map(({ record }) => [
    record.id,
    { ...record, status: told[record.id] ?? record.status },
  ]);
  return { effects: Object.fromEntries(effects), isElsewhere: false };
}

const keysOf = ({ planned }: EffectPlan) => planned.map(({ record }) => record.key);

describe('planning effects', () => {
  it('gives each its own key, the same whenever the same run is planned', () => {
    const tasks = [task('a', effect('one'), effect('two')), task('b', effect('three'))];
    const first = planEffects(tasks, run);
    expect(first.planned.map(({ record }) => record.id)).toEqual(['one', 'two', 'three']);
    expect(new Set(keysOf(first)).size).toBe(3);
    expect(keysOf(planEffects(tasks, run))).toEqual(keysOf(first));
    expect(keysOf(planEffects(tasks, 'run-bbbb')).filter((key) => keysOf(first).includes(key))).toEqual([]);
    expect(keysOf(first).every((key) => /^orch-[0-9a-f]{32}$/.test(key))).toBe(true);
  });

  it('does only what is missing, under the same key, even in a run that continues another', () => {
    const tasks = [task('a', effect('one'), effect('two'), effect('three'))];
    const before = planEffects(tasks, run);
    const after = planEffects(tasks, 'run-bbbb', carry(before, { one: 'acknowledged', three: 'blocked' }));
    expect(keysOf(after)).toEqual(keysOf(before));
    expect(after.planned.map(({ record }) => record.status)).toEqual(['acknowledged', 'planned', 'planned']);
    expect(listOpenEffects(after.planned).map(({ record }) => record.id)).toEqual(['two', 'three']);
    expect(listOpenEffects(after.planned).map(({ record }) => record.tried)).toEqual(['no', 'no']);
    expect(after.changes).toEqual([]);
  });

  it('never repeats an acknowledged effect, even if it was changed, and reports that', () => {
    const before = planEffects([task('a', effect('tag'))], run);
    const changed = [task('a', effect('tag', 'otherwise'))];
    const after = planEffects(changed, run, carry(before, { tag: 'acknowledged' }));
    expect(listOpenEffects(after.planned)).toEqual([]);
    expect(keysOf(after)).toEqual(keysOf(before));
    expect(after.changes).toEqual(['effect tag was changed after it was done: it is not done again']);
    // The record keeps the digest of what was done, so that the next session reports it too.
    expect(planEffects(changed, run, carry(after)).changes).toEqual(after.changes);
  });

  it('gives what was changed before it was tried a new key, and only that', () => {
    const before = planEffects([task('a', effect('tag'), effect('mail'))], run);
    const after = planEffects([task('a', effect('tag', 'otherwise'), effect('mail'))], run, carry(before));
    expect(after.planned[0]?.record.key).not.toBe(before.planned[0]?.record.key);
    expect(after.planned[1]?.record.key).toBe(before.planned[1]?.record.key);
    expect(after.planned[0]).toMatchObject({ blocked: null, record: { digest: 'otherwise', tried: 'no' } });
    expect(after.changes).toEqual(['effect tag was changed before it was tried: it is sent as it is now']);
  });

  it('reports planned effects that are no longer in the plan', () => {
    const before = planEffects([task('a', effect('tag'), effect('mail'))], run);
    const after = planEffects([task('a')], run, carry(before, { mail: 'acknowledged' }));
    expect(after.changes).toEqual([
      'effect tag is no longer in the plan; it was planned and may have been done',
    ]);
  });

  it('keeps a key when a task gets another name or place', () => {
    const before = planEffects([task('a', effect('tag'))], run);
    const after = planEffects([task('b'), task('renamed', effect('tag'))], run, carry(before));
    expect(keysOf(after)).toEqual(keysOf(before));
    expect(after.planned[0]?.record.task).toBe('renamed');
  });

  it('refuses two effects of one id: one would count as done when the other is', () => {
    const plan = () => planEffects([task('a', effect('tag')), task('b', effect('tag'))], run);
    expect(plan).toThrow(expect.objectContaining({ code: 'PLAN_INVALID' }));
  });

  it('starts nothing if an open effect needs a variable that is not set', () => {
    const tasks = [
      task('a', effect('post', 'd', request({ headers: { Authorization: `Bearer ${variable('TOKEN')}` } }))),
    ];
    const error = expect.objectContaining({
      code: 'PLAN_INVALID',
      message: 'TOKEN is not set in the environment; effect post of a needs it',
    });
    expect(() => planRunEffects(tasks, run, noEarlierEffects, {})).toThrow(error);
    expect(() => planRunEffects(tasks, run, noEarlierEffects, { TOKEN: '' })).toThrow(error);
    const set = planRunEffects(tasks, run, noEarlierEffects, { TOKEN: 's3cret-value' });
    expect(set.facts).toMatchObject([{ kind: 'effect', run, id: 'post', task: 'a', status: 'planned' }]);
    expect(JSON.stringify(set.facts)).not.toContain('s3cret-value');
    expect(planRunEffects(tasks, run, carry(set, { post: 'acknowledged' }), {}).facts).toHaveLength(1);
    const own = [{ ...tasks[0], id: 'a', effects: tasks[0]?.effects ?? [], env: { TOKEN: 'of the task' } }];
    expect(planRunEffects(own, run, noEarlierEffects, {}).facts).toHaveLength(1);
  });
});

describe('variables in requests', () => {
  const filling = 'abcdef-123456';
  const variables = { TOKEN: filling, HOST: 'example.test' };
  const written: Request = {
    method: 'POST',
    url: `http://${variable('HOST')}/hook?$filter=x`,
    headers: { Authorization: `Bearer ${variable('TOKEN')}`, 'Content-Type': 'application/json' },
    body: { text: variable('TOKEN') },
  };

  it('are filled in only in braces: a bare $name belongs to the address', () => {
    const filled = fillIn(written, variables);
    expect(filled.request.url).toBe('http://example.test/hook?$filter=x');
    expect(filled.request.headers.Authorization).toBe(`Bearer ${filling}`);
    expect(filled.request.body).toEqual({ text: variable('TOKEN') });
    expect(findUnsetVariables({ kind: 'request', request: written }, { HOST: 'x' })).toEqual(['TOKEN']);
  });

  it.each([
    ['http://127.0.0.1/x', true],
    ['HTTPS://example.test', true],
    [`${variable('WEBHOOK')}/x`, true],
    [`http://${variable('HOST')}:${variable('PORT')}/x`, true],
    ['http://$HOST', true],
    [`ftp://${variable('HOST')}/x`, false],
    ['http://', false],
    ['http:x', false],
    ['/path', false],
    ['', false],
  ])('may be part of an address (%s)', (text, isOne) => {
    expect(isAddress(text)).toBe(isOne);
  });

  it('are not shown, nor are header values; other text is', () => {
    const { secrets } = fillIn(written, variables);
    const text = `no ${filling} at example.test, Bearer ${filling}, application/json please`;
    expect(hideSecrets(text, secrets)).toBe('no *** at ***, *** ***, application/json please');
  });
});

describe('what an effect does, for people', () => {
  it.each<[string, Action, string]>([
    ['a line', { kind: 'command', run: { kind: 'shell', line: 'sh release.sh\n' } }, 'sh release.sh'],
    [
      'a program',
      { kind: 'command', run: { kind: 'program', argv: ['git', 'tag', "it's"] } },
      "git tag 'it'\\''s'",
    ],
    [
      'a request, without what its headers say and without a password',
      request({
        url: `https://${['me', 'pa', 'ss'].join(':')}@host/x`,
        headers: { Authorization: 'Bearer literal' },
        body: { text: 'hi' },
      }),
      'POST https://me:***@host/x (Authorization) {"text":"hi"}',
    ],
    [
      'a variable by its name',
      request({ url: `http://${variable('HOST')}/x` }),
      `POST http://${variable('HOST')}/x`,
    ],
    ['a function', { kind: 'function', perform: async () => {} }, 'a function of the program'],
  ])('%s', (_, action, what) => {
    expect(describeAction(action)).toBe(what);
  });

  it('is never long', () => {
    const what = describeAction(request({ body: 'ü'.repeat(100_000) }));
    expect(Buffer.byteLength(what)).toBeLessThanOrEqual(512);
  });
});
