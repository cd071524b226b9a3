/*
 * Conditions of plans, such as `tasks.build.status == 'failed' and not values.draft`. Everything here is pure: what a
 * condition says depends only on how tasks ended and on the values they set.
 */

/** A condition as written, and what it means. */
export type Condition = { readonly text: string; readonly test: Test };

/** What a condition can ask: how a task ended, its exit status, or a value that a task set. */
export type Subject =
  | { readonly about: 'status' | 'exit'; readonly task: string }
  | { readonly about: 'value'; readonly name: string };

type Operand = Subject | { readonly about: 'literal'; readonly value: string };
type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

type Test =
  | { readonly op: 'and' | 'or'; readonly sides: readonly Test[] }
  | { readonly op: 'not'; readonly side: Test }
  | { readonly op: 'holds'; readonly operand: Operand }
  | { readonly op: 'compare'; readonly how: Operator; readonly sides: readonly [Operand, Operand] };

/** The answer to each question of a condition; null if there is none, such as the exit status of a skipped task. */
export type Answers = (subject: Subject) => string | null;

export const valueName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** How a task can have ended. */
export const taskEnds = ['succeeded', 'failed', 'skipped'] as const;

export class ConditionMistake extends Error {}

type Token = { readonly text: string; readonly at: number };

const token =
  /\s*(?:(?<quoted>'[^']*'|"[^"]*")|(?<word>(?:tasks|values)\.[\w.[\]#-]+)|(?<plain>-?\d+(?:\.\d+)?|[A-Za-z]+)|(?<sign>==|!=|<=|>=|<|>|\(|\)))/y;

function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  token.lastIndex = 0;
  while (token.lastIndex < end) {
    const at = token.lastIndex;
    const found = token.exec(text);
    if (found === null) {
      const rest = text.slice(at).trimStart();
      const hint = rest.startsWith('=')
        ? '; for "is equal" write =='
        : /^[&|!]/.test(rest)
          ? '; write and, or, not'
          : '';
      throw new ConditionMistake(`cannot read ${JSON.stringify(rest.slice(0, 20))}${hint}`);
    }
    tokens.push({ text: found[0].trim(), at });
  }
  return tokens;
}

/** The deepest nesting of brackets and `not`. */
const maxNesting = 32;

/** Parses a condition; throws `ConditionMistake`. */
export function parseCondition(text: string): Condition {
  const tokens = readTokens(text);
  let next = 0;
  let nesting = 0;
  const peek = () => tokens[next]?.text;
  const take = () => tokens[next++]?.text;

  function chain(op: 'and' | 'or', side: () => Test): Test {
    const first = side();
    const sides = [first];
    while (peek() === op) {
      next += 1;
      sides.push(side());
    }
    return sides.length === 1 ? first : { op, sides };
  }
  const readAny = (): Test => chain('or', () => chain('and', readOne));

  function readOne(): Test {
    nesting += 1;
    if (nesting > maxNesting) throw new ConditionMistake('it is nested too deeply');
    const test = readOneInside();
    nesting -= 1;
    return test;
  }

  function readOneInside(): Test {
    if (peek() === 'not') {
      next += 1;
      return { op: 'not', side: readOne() };
    }
    if (peek() === '(') {
      next += 1;
      const inside = readAny();
      if (take() !== ')') throw new ConditionMistake('a closing ) is missing');
      return inside;
    }
    const left = readOperand(take());
    const how = peek();
    if (how === undefined || !isOperator(how)) return { op: 'holds', operand: left };
    next += 1;
    const right = readOperand(take());
    refuseUnknownStatus(left, right);
    refuseUnknownStatus(right, left);
    return { op: 'compare', how, sides: [left, right] };
  }

  if (tokens.length === 0) throw new ConditionMistake('it is empty');
  const test = readAny();
  const rest = peek();
  if (rest !== undefined) throw new ConditionMistake(`${JSON.stringify(rest)} is not expected there`);
  return { text: text.trim(), test };
}

function isOperator(text: string): text is Operator {
  return ['==', '!=', '<', '<=', '>', '>='].includes(text);
}

function readOperand(text: string | undefined): Operand {
  if (text === undefined) throw new ConditionMistake('it ends too early');
  if (/^['"]/.test(text)) return { about: 'literal', value: text.slice(1, -1) };
  if (/^-?\d/.test(text) || text === 'true' || text === 'false') return { about: 'literal', value: text };
  const [, task = '', about] = /^tasks\.(.+)\.(status|exit)$/.exec(text) ?? [];
  if (about === 'status' || about === 'exit') return { about, task };
  const [, name = ''] = /^values\.(.+)$/.exec(text) ?? [];
  if (valueName.test(name)) return { about: 'value', name };
  if (text.startsWith('tasks.'))
    throw new ConditionMistake(`${text} needs an ending: ${text}.status or ${text}.exit`);
  const hint = /^[A-Za-z]+$/.test(text) ? `; text is written in quotes: '${text}'` : '';
  throw new ConditionMistake(
    `${JSON.stringify(text)} is neither tasks.ID.status, tasks.ID.exit nor values.NAME${hint}`,
  );
}

/** A misspelt status would never be equal. */
function refuseUnknownStatus(one: Operand, other: Operand): void {
  if (one.about !== 'status' || other.about !== 'literal') return;
  if (!taskEnds.some((end) => end === other.value))
    throw new ConditionMistake(`a status is 'succeeded', 'failed' or 'skipped', never '${other.value}'`);
}

/** Lists what a condition asks, each question once. */
export function listSubjects({ test }: Condition): Subject[] {
  const found = new Map<string, Subject>();
  const visit = (one: Test): void => {
    if (one.op === 'holds') note(one.operand);
    else if (one.op === 'compare') one.sides.forEach(note);
    else for (const side of one.op === 'not' ? [one.side] : one.sides) visit(side);
  };
  const note = (operand: Operand): void => {
    if (operand.about !== 'literal') found.set(nameSubject(operand), operand);
  };
  visit(test);
  return [...found.values()];
}

/** The ids of the tasks a condition is about. */
export function listConditionTasks(condition: Condition): string[] {
  return [
    ...new Set(listSubjects(condition).flatMap((subject) => ('task' in subject ? [subject.task] : []))),
  ];
}

function nameSubject(subject: Subject): string {
  return subject.about === 'value' ? `values.${subject.name}` : `tasks.${subject.task}.${subject.about}`;
}

/** Words that mean no, for a value that stands alone. */
const falseWords: readonly string[] = ['', 'false', '0', 'no'];

/** Whether a condition holds, and the answers it depends on, for people. */
export function evaluate(
  condition: Condition,
  answers: Answers,
): { readonly holds: boolean; readonly because: string } {
  const read = (operand: Operand) => (operand.about === 'literal' ? operand.value : answers(operand));
  const holds = (test: Test): boolean => {
    switch (test.op) {
      case 'and':
        return test.sides.every(holds);
      case 'or':
        return test.sides.some(holds);
      case 'not':
        return !holds(test.side);
      case 'holds':
        return !falseWords.includes(read(test.operand) ?? '');
      case 'compare':
        return compare(test.how, read(test.sides[0]), read(test.sides[1]));
    }
  };
  const because = listSubjects(condition).map((subject) => {
    const answer = answers(subject);
    const shown =
      answer === null ? 'not set' : `'${answer.length > 60 ? `${answer.slice(0, 60)}…` : answer}'`;
    return `${nameSubject(subject)} is ${shown}`;
  });
  return { holds: holds(condition.test), because: because.join(', ') };
}

/** Numbers are compared as numbers, anything else as text, which is only equal or not. */
function compare(how: Operator, a: string | null, b: string | null): boolean {
  const [x, y] = [toNumber(a), toNumber(b)];
  const areNumbers = x !== null && y !== null;
  switch (how) {
    case '==':
      return areNumbers ? x === y : a === b;
    case '!=':
      return areNumbers ? x !== y : a !== b;
    case '<':
      return areNumbers && x < y;
    case '<=':
      return areNumbers && x <= y;
    case '>':
      return areNumbers && x > y;
    case '>=':
      return areNumbers && x >= y;
  }
}

function toNumber(text: string | null): number | null {
  return text !== null && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : null;
}

/** The same condition about other tasks. */
export function mapTasks({ text, test }: Condition, rename: (task: string) => string): Condition {
  const mapOperand = (operand: Operand): Operand =>
    'task' in operand ? { ...operand, task: rename(operand.task) } : operand;
  const map = (one: Test): Test => {
    switch (one.op) {
      case 'and':
      case 'or':
        return { ...one, sides: one.sides.map(map) };
      case 'not':
        return { ...one, side: map(one.side) };
      case 'holds':
        return { ...one, operand: mapOperand(one.operand) };
      case 'compare':
        return { ...one, sides: [mapOperand(one.sides[0]), mapOperand(one.sides[1])] };
    }
  };
  return { text, test: map(test) };
}
