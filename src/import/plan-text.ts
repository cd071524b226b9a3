import { Document, isMap, isSeq, Scalar } from 'yaml';
import { parsePlan } from '../plan/parse-plan.ts';
import type { Task } from '../plan/plan.ts';
import type { DraftTask } from './plan-from-issues.ts';

/* The plan as a file, for people to review. */

type WrittenPlan = {
  readonly name: string | null;
  readonly head: readonly string[];
  readonly tasks: readonly DraftTask[];
};

const schema = 'https://unpkg.com/@create-something/orchestration/templates/schemas/plan.schema.json';

/** Writes a plan as YAML, and reads it back: it says exactly these tasks, or it is not returned. */
export function writePlanText({ name, head, tasks }: WrittenPlan): string {
  const lines = [`# yaml-language-server: $schema=${schema}`, ...head.map((line) => `# ${line}`)];
  const intro = name === null ? 'tasks:\n' : `${print({ name })}tasks:\n`;
  const text = `${lines.join('\n')}\n${intro}${tasks.map(writeTask).join('\n')}`;
  requireSame(tasks, text);
  return text;
}

const mostOnOneLine = 6;

/** Prints a value as YAML. Lines are never folded, so that a prompt looks as it was written. */
function print(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  const { contents } = document;
  if (isMap(contents)) for (const { value: node } of contents.items) style(node);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function style(node: unknown): void {
  if (node instanceof Scalar && typeof node.value === 'string' && node.value.includes('\n'))
    node.type = Scalar.BLOCK_LITERAL;
  // Short lists are read at a glance on one line.
  else if (isSeq(node)) node.flow = node.items.length <= mostOnOneLine;
}

function writeTask(task: DraftTask): string {
  const { id, issue, name, prompt, needs, when, labels, complexity } = task;
  const written = {
    id,
    name,
    ...(prompt === null ? { run: 'true' } : {}),
    needs,
    ...(when === 'success' ? {} : { when }),
    ...(labels.length > 0 && { labels }),
    ...(complexity !== null && { complexity }),
    ...(prompt !== null && { prompt }),
  };
  const [first = '', ...rest] = print(written).trimEnd().split('\n');
  const origin =
    issue === null || issue === id ? [] : [`  # ${issue.replace(/[\p{Control}\u2028\u2029]/gu, '?')}`];
  return [...origin, `  - ${first}`, ...rest.map((line) => (line === '' ? '' : `    ${line}`)), ''].join(
    '\n',
  );
}

function requireSame(drafts: readonly DraftTask[], text: string): void {
  const { tasks } = parsePlan(text, 'the plan');
  const read = new Map(tasks.map((task) => [task.id, task]));
  const wrong = drafts.filter((draft) => !isSame(draft, read.get(draft.id)));
  if (tasks.length === drafts.length && wrong.length === 0) return;
  // A plan that says something else than the issues must not reach anyone.
  throw new Error(
    `the plan reads back differently: ${wrong
      .map(({ id }) => id)
      .slice(0, 5)
      .join(', ')}`,
  );
}

function isSame(
  { name, prompt, needs, when, labels, complexity }: DraftTask,
  task: Task | undefined,
): boolean {
  if (task === undefined) return false;
  const { convoy } = task;
  return (
    task.name === name &&
    convoy.prompt === prompt &&
    (prompt === null) === (task.run !== null) &&
    task.when === when &&
    task.needs.join('\n') === needs.join('\n') &&
    convoy.labels.join('\n') === labels.join('\n') &&
    convoy.complexity === complexity
  );
}
