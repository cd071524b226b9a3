import { expect, it } from 'vitest';
import { areGatesDue } from '../../src/hooks/gates-after-turn.ts';
import { parseOid } from '../../src/ids.ts';
import { facts, first, tellStories } from '../support/stories.ts';

const [tree, otherTree] = [parseOid('a'.repeat(40)), parseOid('b'.repeat(40))];
const gate = (name: string) => ({ name, run: 'true', fix: null, timeout: 1_000 });

it('gates are due on files that one of them has not run on, whatever the others said', () => {
  const state = tellStories({
    session: first,
    number: 1,
    said: [
      ['10:00', { ...facts.gate('test', 'failed'), tree }],
      ['10:00', { ...facts.gate('lint', 'passed'), tree: null }],
    ],
  });
  expect(areGatesDue([gate('test')], state, tree)).toBe(false);
  expect(areGatesDue([gate('test')], state, otherTree)).toBe(true);
  expect(areGatesDue([gate('test'), gate('lint')], state, tree)).toBe(true);
  expect(areGatesDue([gate('test'), gate('new')], state, tree)).toBe(true);
  expect(areGatesDue([], state, tree)).toBe(false);
});
