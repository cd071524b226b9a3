import { expect, it } from 'vitest';
import { isFact } from '../../src/state/fact-check.ts';
import { findFactProblem } from '../../src/state/fact-shape.ts';
import type { Fact } from '../../src/state/facts.ts';
import { growTree, mutateTree, writeTree } from '../fuzz/json-tree.ts';
import { makeRandom } from '../fuzz/random.ts';
import { facts } from '../fuzz/targets/epic.ts';

const kinds: readonly Fact[] = [
  ...facts,
  { kind: 'session_started', number: 3, agent: null, parentSessionId: null },
  { kind: 'session_paused', reason: null },
  { kind: 'session_completed', reason: 'done' },
  { kind: 'session_failed', reason: null },
  { kind: 'session_recovered', reason: null },
  { kind: 'budget_exceeded', reason: 'spent' },
];

it('the check of a journal takes every kind of fact', () => {
  expect(new Set(kinds.map(({ kind }) => kind)).size).toBe(24);
  for (const fact of kinds) expect(isFact(fact), JSON.stringify(fact)).toBe(true);
});

it('the check of a journal takes no known fact that a document refuses, and refuses none that it takes', () => {
  const random = makeRandom(7);
  const known = new Set<unknown>(kinds.map(({ kind }) => kind));
  let [taken, refused] = [0, 0];
  for (let round = 0; round < 6_000; round++) {
    const [sample, donor] = [random.pick(kinds), random.pick(kinds)];
    const text = writeTree(mutateTree(growTree(sample), random, growTree(donor)));
    // Its depth is judged by the document as a whole.
    if (/[[{]{3}|(?:\{"a":){3}/.test(text)) continue;
    const fact: unknown = JSON.parse(text);
    if (typeof fact !== 'object' || fact === null || !('kind' in fact) || !known.has(fact.kind)) continue;
    const isRight = findFactProblem(fact) === null;
    // What else a fact has must be JSON as well; a shape does not look at it.
    if (isRight && !isFact(fact) && /e999|e21|e308/.test(text)) continue;
    expect(isFact(fact), text).toBe(isRight);
    if (isRight) taken++;
    else refused++;
  }
  expect(taken).toBeGreaterThan(500);
  expect(refused).toBeGreaterThan(500);
});

it('a value that cannot be compared is refused like any other', () => {
  const odd = { valueOf: 1, toString: 1 };
  const started = { kind: 'session_started', number: odd, agent: null, parentSessionId: null };
  for (const fact of [started, { kind: 'note', id: { length: odd }, text: 'x' }])
    expect([isFact(fact), findFactProblem(fact)]).toEqual([false, expect.any(String)]);
});
