import { describe, expect, it } from 'vitest';
import { parseSteps } from '../../src/agents/transcript/recent-steps.ts';
import { defaultConfig } from '../../src/config/defaults.ts';
import { freshMemory, judge, type Sighting, type WitnessMemory } from '../../src/witness/judge.ts';
import { decideTurn, type KnownLimit } from '../../src/witness/limits.ts';
import { findRepetition } from '../../src/witness/repetition.ts';

const minute = 60_000;
const policy = defaultConfig.witness;
const calm: Sighting = {
  awake: minute,
  isAlive: true,
  isFrozen: false,
  cpu: { own: 0, others: 0 },
  said: 100,
  changed: null,
  running: null,
  repetition: null,
  waiting: null,
  question: null,
};

/** Judges one sighting after another, and returns how each was judged: `health` or `health → action`. */
function watch(sightings: readonly Partial<Sighting>[], memory: WitnessMemory = freshMemory): string[] {
  let known = memory;
  return sightings.map((seen) => {
    const { health, action, memory: next } = judge({ ...calm, ...seen }, policy, known);
    known = next;
    return action === null ? health : `${health} → ${action}`;
  });
}

/** The last judgement after an agent has shown nothing for so many minutes. */
const afterSilence = (minutes: number, seen: Partial<Sighting> = {}) =>
  watch(Array.from({ length: minutes + 1 }, () => seen)).at(-1);

/** The actions in so many minutes in which an agent is seen like this, each with the minute it happened in. */
const actionsIn = (minutes: number, seen: (minute: number) => Partial<Sighting>) =>
  watch(Array.from({ length: minutes }, (_, at) => seen(at))).flatMap((each, at) =>
    each.includes('→') ? [`${at}: ${each}`] : [],
  );

describe('an agent is judged by what is seen of it', () => {
  it.each<[string, Partial<Sighting>, string]>([
    ['its process is gone', { isAlive: false }, 'dead'],
    ["it is at its provider's limit", { waiting: { for: 'limit', detail: null, at: 0 } }, 'limited'],
    ['it waits for a permission', { waiting: { for: 'permission', detail: 'rm', at: 0 } }, 'waiting'],
    ['it asks', { question: 'Which colour?' }, 'waiting'],
    ['it repeats itself', { repetition: { words: 'it did npm test', times: 8 } }, 'looping → nudge'],
    [
      'it has repeated itself only a little',
      { repetition: { words: 'it did npm test', times: 7 } },
      'working',
    ],
  ])('if %s', (_, seen, expected) => {
    expect(watch([seen])).toEqual([expected]);
  });

  it('is quiet, and then stuck, only if nothing gives a sign of life', () => {
    expect(afterSilence(4)).toBe('working');
    expect(afterSilence(5)).toBe('quiet');
    expect(afterSilence(29)).toBe('quiet');
    expect(afterSilence(30)).toBe('stuck → nudge');
  });

  it.each<[string, (at: number) => Partial<Sighting>]>([
    ['it says something', (at) => ({ said: at })],
    ['a file changes', (at) => ({ changed: at })],
    ['what it runs is busy', (at) => ({ cpu: { own: 0, others: at * minute * 0.1 } })],
    ['it is busy itself', (at) => ({ cpu: { own: at * minute * 0.3, others: 0 } })],
    ['what it ran ends', (at) => ({ cpu: { own: 0, others: -at } })],
  ])('works for hours if %s', (_, seen) => {
    const judged = watch(Array.from({ length: 300 }, (__, at) => seen(at)));
    expect(new Set(judged)).toEqual(new Set(['working']));
  });

  it('is not alive because its process turns over a little', () => {
    const judged = watch(
      Array.from({ length: 31 }, (_, at) => ({ cpu: { own: at * 600, others: at * 600 } })),
    );
    expect(judged.at(-1)).toBe('stuck → nudge');
  });

  it('has twice the time while it waits for a command, unless its process was stopped', () => {
    expect(afterSilence(59, { running: 'Bash: gh run watch' })).toBe('quiet');
    expect(afterSilence(60, { running: 'Bash: gh run watch' })).toBe('stuck → nudge');
    expect(afterSilence(30, { running: 'Bash: gh run watch', isFrozen: true })).toBe('stuck → nudge');
  });

  it('loses no time while the machine sleeps', () => {
    expect(afterSilence(600, { awake: 0 })).toBe('working');
  });

  it('may think, or wait for its user, as long as it takes', () => {
    expect(actionsIn(20, () => ({}))).toEqual([]);
    expect(actionsIn(2_000, () => ({ question: 'Which colour?' }))).toEqual([]);
    expect(actionsIn(2_000, () => ({ waiting: { for: 'limit', detail: null, at: 0 } }))).toEqual([]);
  });
});

describe('what is done about an agent in trouble', () => {
  it('goes up a step at a time, each with time to work, and then stops', () => {
    expect(actionsIn(200, () => ({}))).toEqual([
      '30: stuck → nudge',
      '40: stuck → escalate',
      '50: stuck → end',
    ]);
  });

  it('is over once the agent gives a sign of life', () => {
    const said = (at: number) => ({ said: at < 35 ? 1 : at < 36 ? 2 : 3 });
    expect(actionsIn(60, said)).toEqual(['30: stuck → nudge']);
  });

  it('goes on against a loop only if the agent still repeats itself', () => {
    const looping = (at: number) => ({ said: at, repetition: { words: 'x', times: 8 + at } });
    expect(actionsIn(40, looping)).toEqual([
      '0: looping → nudge',
      '10: looping → escalate',
      '20: looping → end',
    ]);
    // It has heard the nudge, and is thinking.
    const thinking = () => ({ repetition: { words: 'x', times: 8 } });
    expect(actionsIn(29, thinking)).toEqual(['0: looping → nudge']);
  });

  it('is only what the policy allows', () => {
    const only = { ...policy, actions: [] };
    let memory = freshMemory;
    for (let at = 0; at < 100; at++) {
      const judged = judge(calm, only, memory);
      memory = judged.memory;
      expect(judged.action).toBeNull();
    }
  });
});

describe('a repetition', () => {
  const steps = (keys: string, every = 1_000) =>
    [...keys].map((key, at) => ({ key, what: key.toUpperCase(), at: at * every }));

  it.each<[string, ReturnType<typeof findRepetition>]>([
    ['', null],
    ['a', null],
    ['ab', null],
    ['abb', { words: 'it did “B” 2 times in a row, with the same result', times: 2 }],
    ['abbbb', { words: 'it did “B” 4 times in a row, with the same result', times: 4 }],
    ['xabababab', { words: 'it did “A”, then “B” 4 times in a row, with the same result', times: 4 }],
    [
      'abcabcabc',
      { words: 'it did “A”, then “B”, then “C” 3 times in a row, with the same result', times: 3 },
    ],
    ['abcdeabcdeabcde', null],
    ['bbbba', null],
  ])('of %o is %o', (keys, expected) => {
    expect(findRepetition(steps(keys))).toEqual(expected);
  });

  it('is none if the steps are far apart: that is polling', () => {
    expect(findRepetition(steps('aaaaaaaaaa', 60_000))).toBeNull();
    expect(findRepetition(steps('aaaaaaaaaa', 30_000))).toMatchObject({ times: 10 });
  });
});

describe('the steps in a transcript', () => {
  const call = (id: string, command: string) => ({
    timestamp: '2026-01-01T00:00:00Z',
    message: { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: { command } }] },
  });
  const result = (id: string, content: unknown) => ({
    timestamp: '2026-01-01T00:00:01Z',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
  });
  const parse = (...entries: object[]) => parseSteps(entries.map((entry) => JSON.stringify(entry)));

  it('are alike if call and result are, apart from numbers such as durations', () => {
    const { done, running } = parse(
      call('1', 'npm test'),
      result('1', '3 failed in 1.32s'),
      call('2', 'npm test'),
      result('2', [{ type: 'text', text: '3 failed in 1.40s' }]),
      call('3', 'npm test'),
      result('3', '3 failed in 2.01s'),
      call('4', 'npm run lint'),
    );
    expect(done.map(({ what }) => what)).toEqual(['Bash: npm test', 'Bash: npm test', 'Bash: npm test']);
    expect(done[0]?.key).toBe(done[2]?.key);
    expect(done[0]?.key).not.toBe(done[1]?.key);
    expect(running).toBe('Bash: npm run lint');
  });

  it('are not alike if the result changes', () => {
    const { done } = parse(
      call('1', 'npm test'),
      result('1', 'a failed'),
      call('2', 'npm test'),
      result('2', 'b failed'),
    );
    expect(done[0]?.key).not.toBe(done[1]?.key);
  });

  it("are read from Codex's rollouts", () => {
    const item = (payload: object) => ({ timestamp: '2026-01-01T00:00:00Z', type: 'response_item', payload });
    const { done, running } = parse(
      item({ type: 'function_call', name: 'shell', call_id: 'c1', arguments: '{"command":["npm","test"]}' }),
      item({ type: 'function_call_output', call_id: 'c1', output: 'ok' }),
      item({ type: 'custom_tool_call', name: 'apply_patch', call_id: 'c2', input: '*** Begin Patch' }),
    );
    expect(done.map(({ what }) => what)).toEqual(['shell: npm test']);
    expect(running).toBe('apply_patch');
  });
});

describe("after a provider's limit", () => {
  it.each<[string, KnownLimit | null, number, number | null]>([
    ['nothing is known of one', null, 5, null],
    ['it has not reset', { until: 100_000, resumedAt: null }, 5, 100_000],
    ['it has reset', { until: 100_000, resumedAt: null }, 100_000, null],
    ['another agent has just continued', { until: 100_000, resumedAt: 101_000 }, 105_000, 111_000],
    ['that one was not refused again', { until: 100_000, resumedAt: 101_000 }, 111_000, null],
    ['it was long ago', { until: 100_000, resumedAt: 2_000_000 }, 2_000_001, null],
  ])('agents start one after the other: %s', (_, limit, now, expected) => {
    expect(decideTurn(limit, now)).toBe(expected);
  });
});
