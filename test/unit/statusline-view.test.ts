import { expect, it } from 'vitest';
import { parseStatusCall } from '../../src/agents/calls/status-call.ts';
import { showStatusLine } from '../../src/cli/direct/statusline.ts';
import { describeBudget } from '../../src/cost/budget.ts';
import { parseEpicId } from '../../src/ids.ts';
import type { StatusLine } from '../../src/index.ts';
import { readFixture } from '../support/fixtures.ts';

const line: StatusLine = {
  epic: parseEpicId('feat-login'),
  number: 7,
  session: 960_000,
  budget: describeBudget(4_100_000, 20_000_000),
  gates: 'red',
  percent: 83.4,
  age: 120_000,
};
const beginning = { number: null, session: 0, gates: 'unknown' as const, percent: null, age: null };

it.each<[string, Partial<StatusLine>, number, string]>([
  [
    'all of it',
    {},
    120,
    'feat-login s7 · session $0.96 · $4.10/$20.00 █░░░░░░ 20% · gates red · context 83% · saved 2m ago',
  ],
  [
    'no bar where it does not fit',
    {},
    95,
    'feat-login s7 · session $0.96 · $4.10/$20.00 20% · gates red · context 83% · saved 2m ago',
  ],
  [
    'nothing of the last checkpoint where that does not fit either',
    {},
    80,
    'feat-login s7 · session $0.96 · $4.10/$20.00 20% · gates red · context 83%',
  ],
  [
    'what there is, at the beginning',
    { ...beginning, budget: describeBudget(0, null) },
    80,
    'feat-login · $0.00 · nothing saved',
  ],
  [
    'the money once, where one session spent it all',
    { session: 4_100_000, age: 10 },
    120,
    'feat-login s7 · $4.10/$20.00 █░░░░░░ 20% · gates red · context 83% · saved now',
  ],
])('shows %s', (_, part, columns, expected) => {
  expect(showStatusLine({ ...line, ...part }, columns)).toBe(expected);
});

it('understands what Claude Code tells', () => {
  expect(parseStatusCall(readFixture('claude/statusline/filled.json'))).toEqual({
    agentSession: '19237efa-ef70-4248-906c-cc4f9be2e4c2',
    cost: 485_286,
    cwd: '/repo',
    project: '/repo',
    usedPercent: 75,
    context: { tokens: 150_000, model: 'claude-sonnet-4-5', window: 200_000 },
  });
  expect(parseStatusCall(readFixture('claude/statusline/empty.json'))?.context).toBeNull();
});

it.each(['', '{', '[]', 'null', '{"session_id":7}', '{"context_window":{}}'])('passes over %j', (text) => {
  expect(parseStatusCall(text)).toBeNull();
});

it.each(['{"session_id":"a"}', '{"session_id":"a","context_window":7,"model":[],"workspace":null,"cwd":{}}'])(
  'takes what it can of %j',
  (text) => {
    expect(parseStatusCall(text)).toEqual({
      agentSession: 'a',
      cost: null,
      cwd: null,
      project: null,
      usedPercent: null,
      context: null,
    });
  },
);
