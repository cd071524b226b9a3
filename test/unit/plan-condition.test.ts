import { describe, expect, it } from 'vitest';
import {
  type Answers,
  ConditionMistake,
  evaluate,
  listConditionTasks,
  parseCondition,
} from '../../src/plan/condition.ts';

const answers: Answers = (subject) => {
  if (subject.about === 'value')
    return { N: '10', M: '9.5', word: 'yes', no: 'no', zero: '0', empty: '' }[subject.name] ?? null;
  const ends: { [task: string]: [status: string, exit: string | null] } = {
    ok: ['succeeded', '0'],
    'web-2.x': ['failed', '2'],
    'check[a.b#2]': ['succeeded', '0'],
    late: ['skipped', null],
  };
  const [status, exit] = ends[subject.task] ?? [null, null];
  return subject.about === 'status' ? status : exit;
};

const holds = (text: string) => evaluate(parseCondition(text), answers).holds;

describe('a condition', () => {
  it.each([
    ["tasks.ok.status == 'succeeded'", true],
    ['tasks.ok.status != "succeeded"', false],
    ['tasks.web-2.x.exit == 2', true],
    ["tasks.check[a.b#2].status == 'succeeded'", true],
    // Numbers are compared as numbers.
    ['values.N > values.M', true],
    ["values.N == '10.0'", true],
    ['values.N <= 9', false],
    ['values.M >= 9.5', true],
    ['values.N > -1', true],
    // Text has no order.
    ["values.word < 'z'", false],
    ["values.word == 'Yes'", false],
    // What is not there equals nothing, and is no number.
    ['tasks.late.exit == 0', false],
    ['tasks.late.exit < 1', false],
    ['tasks.late.exit != 0', true],
    ["values.unset == ''", false],
    // A value alone.
    ['values.word', true],
    ['values.no', false],
    ['values.zero', false],
    ['values.empty', false],
    ['not values.unset', true],
    // `and` binds more tightly than `or`, and `not` more than both.
    ['true or false and false', true],
    ['(true or false) and false', false],
    ['not false and false', false],
    ['not (false and false)', true],
    ['  tasks.ok.exit==0 and\n not(values.no)  ', true],
  ])('%j is %s', (text, expected) => {
    expect(holds(text)).toBe(expected);
  });

  it.each([
    ['', 'it is empty'],
    ['tasks.a.status =', 'cannot read "="; for "is equal" write =='],
    ['values.a && values.b', 'cannot read "&& values.b"; write and, or, not'],
    ['!values.a', 'cannot read "!values.a"; write and, or, not'],
    ["values.a == 'x", `cannot read "'x"`],
    ["tasks.a.status == 'ok'", "a status is 'succeeded', 'failed' or 'skipped', never 'ok'"],
    ["'done' == tasks.a.status", "a status is 'succeeded', 'failed' or 'skipped', never 'done'"],
    ['tasks.a', 'tasks.a needs an ending: tasks.a.status or tasks.a.exit'],
    ['tasks.a.state == 1', 'tasks.a.state needs an ending: tasks.a.state.status or tasks.a.state.exit'],
    [
      'values.a == yes',
      '"yes" is neither tasks.ID.status, tasks.ID.exit nor values.NAME; text is written in quotes: \'yes\'',
    ],
    ['values.1a', '"values.1a" is neither tasks.ID.status, tasks.ID.exit nor values.NAME'],
    ['(values.a', 'a closing ) is missing'],
    ['values.a)', '")" is not expected there'],
    ['values.a values.b', '"values.b" is not expected there'],
    ['values.a ==', 'it ends too early'],
    ['not', 'it ends too early'],
    [`${'('.repeat(40)}true${')'.repeat(40)}`, 'it is nested too deeply'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parseCondition(text)).toThrow(new ConditionMistake(message));
  });

  it('may be long, as long as it is not deep', () => {
    const text = Array.from({ length: 5_000 }, (_, n) => `tasks.t${n}.exit == 1`).join(' or ');
    const condition = parseCondition(text);
    expect(listConditionTasks(condition)).toHaveLength(5_000);
    expect(evaluate(condition, answers).holds).toBe(false);
  });

  it('says what it depends on, each question once', () => {
    const condition = parseCondition("tasks.ok.exit == 1 or (tasks.ok.exit > 5 and values.unset == 'x')");
    expect(evaluate(condition, answers).because).toBe("tasks.ok.exit is '0', values.unset is not set");
  });
});
