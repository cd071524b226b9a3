import { expect, it } from 'vitest';
import { type StatusLine, showStatusLine } from '../../src/cli/statusline-view.ts';
import { describeBudget } from '../../src/cost/budget.ts';
import { measureContext } from '../../src/cost/context.ts';
import { parseEpicId } from '../../src/ids.ts';
import { parseStatusCall } from '../../src/integration/status-call.ts';
import { readFixture } from '../support/fixtures.ts';

const line: StatusLine = {
  epic: parseEpicId('feat-login'),
  number: 7,
  budget: describeBudget(4_100_000, 20_000_000),
  context: measureContext({ tokens: 150_000, model: null, window: 200_000 }, 'a', 'auto', null),
  age: 120_000,
};

it.each<[string, Partial<StatusLine>, number, string]>([
  ['all of it', {}, 80, 'feat-login s7 · $4.10/$20.00 █░░░░░░ 20% · WARNING 75% · saved 2m ago'],
  ['no bar where it does not fit', {}, 60, 'feat-login s7 · $4.10/$20.00 20% · WARNING 75% · saved 2m ago'],
  [
    'what there is, at the beginning',
    { number: null, budget: describeBudget(0, null), context: null, age: null },
    80,
    'feat-login · $0.00 · nothing saved',
  ],
  [
    'a checkpoint of now',
    { age: 10, context: null, number: 1 },
    40,
    'feat-login s1 · $4.10/$20.00 20% · saved now',
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
      context: null,
    });
  },
);
