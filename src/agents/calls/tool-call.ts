import { isAbsolute, relative } from 'node:path';
import { isRecord } from '../../checks.ts';
import type { Fields } from '../../cost/json-fields.ts';
import { hash } from '../../digest.ts';
import { lookUp } from '../../keyed.ts';
import { maxKeyLength } from '../../state/fact-check.ts';
import type { Fact } from '../../state/facts.ts';
import { cutBytes } from '../../text.ts';
import { parseTestOutput } from './test-output.ts';

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Reads the agent's own id for a tool call. It is stored, so anything that does not look like an id is refused. */
export function readMark(value: unknown): string | null {
  const mark = textOf(value);
  return mark !== null && /^[\w.:-]{1,128}$/.test(mark) ? mark : null;
}

/** Turns a tool call into facts. Paths are relative to the folder the agent was in. */
export function describeTool(
  { tool_name, tool_input, tool_response }: Fields,
  { cwd, conversation }: { readonly cwd: string | null; readonly conversation: string },
): Fact[] {
  const input = isRecord(tool_input) ? tool_input : {};
  const response = isRecord(tool_response) ? tool_response : {};
  switch (tool_name) {
    case 'Write':
    case 'Edit':
    case 'MultiEdit':
    case 'NotebookEdit':
      return describeFile(input, response, cwd);
    case 'TodoWrite':
      return describeTodos(input);
    case 'TaskCreate':
    case 'TaskUpdate':
      return describeTask(input, response, conversation);
    case 'ExitPlanMode':
      return describePlan(input, response);
    case 'AskUserQuestion':
      return describeAnswers(input, response);
    case 'apply_patch':
      return describePatch(
        textOf(tool_input) ?? textOf(input.input) ?? textOf(input.patch) ?? textOf(input.command) ?? '',
      );
    case 'Bash':
      return describeTests(response, tool_response);
    default:
      return [];
  }
}

/** A path that is too long for a key is dropped: cut short, it would name another file. */
function isPath(path: string): boolean {
  return path !== '' && path.length <= maxKeyLength;
}

function describeFile(input: Fields, response: Fields, cwd: string | null): Fact[] {
  const given = textOf(input.file_path) ?? textOf(input.notebook_path);
  if (given === null) return [];
  const path = cwd !== null && isAbsolute(given) ? relative(cwd, given) : given;
  if (!isPath(path)) return [];
  const isNew = response.type === 'create';
  const change = isNew ? 'added' : 'modified';
  const content = textOf(input.content) ?? '';
  const lines = isNew
    ? { added: content.split('\n').length - (content.endsWith('\n') ? 1 : 0), removed: 0 }
    : countLines(response.structuredPatch);
  return [{ kind: 'file', path: path.replaceAll('\\', '/'), change, ...lines, priority: null, why: null }];
}

const patchKinds: { readonly [word: string]: 'added' | 'modified' | 'deleted' } = {
  Add: 'added',
  Update: 'modified',
  Delete: 'deleted',
};

/** Reads a Codex patch: `*** Update File: src/a.ts`, then the lines. */
function describePatch(patch: string): Fact[] {
  const files = [...patch.matchAll(/^\*\*\* (Add|Update|Delete) File: (.+)$/gm)];
  return files.flatMap(([, word = '', name = '']): Fact[] => {
    const path = name.trim();
    const change = patchKinds[word];
    if (change === undefined || !isPath(path)) return [];
    return [{ kind: 'file', path, change, added: null, removed: null, priority: null, why: null }];
  });
}

/** Counts the lines of a Claude Code patch: hunks whose lines begin with `+`, `-` or a space. */
function countLines(patch: unknown): { added: number | null; removed: number | null } {
  if (!Array.isArray(patch)) return { added: null, removed: null };
  const lines: unknown[] = patch.flatMap((hunk: unknown) =>
    isRecord(hunk) && Array.isArray(hunk.lines) ? hunk.lines : [],
  );
  const count = (sign: string) =>
    lines.filter((line) => typeof line === 'string' && line.startsWith(sign)).length;
  return { added: count('+'), removed: count('-') };
}

const issueStatuses: { readonly [status: string]: 'open' | 'in_progress' | 'done' } = {
  pending: 'open',
  in_progress: 'in_progress',
  completed: 'done',
};

function issueFact(id: string, title: string | null, status: string | null): Fact | null {
  const known = status === null ? 'open' : lookUp(issueStatuses, status);
  if (known === undefined) return null;
  return { kind: 'issue', id, title, status: known, severity: null, location: null };
}

const taskFact = (text: string): Fact => ({
  kind: 'current_set',
  key: 'currentTask',
  value: { text, status: 'in_progress' },
});

/** Todo items have no id, so their text serves as one. */
function describeTodos({ todos }: Fields): Fact[] {
  const items = Array.isArray(todos) ? todos.filter(isRecord) : [];
  return items.flatMap(({ content, status }): Fact[] => {
    const text = textOf(content);
    if (text === null || text === '') return [];
    const issue = issueFact(`todo: ${cutBytes(text, 200)}`, text, textOf(status));
    return [...(issue ? [issue] : []), ...(status === 'in_progress' ? [taskFact(text)] : [])];
  });
}

/** Task numbers start at 1 in every conversation, so the key includes the conversation. */
function describeTask(input: Fields, response: Fields, conversation: string): Fact[] {
  const made = isRecord(response.task) ? response.task : response;
  const given = input.taskId ?? made.id ?? made.taskId;
  const id = typeof given === 'string' || typeof given === 'number' ? String(given) : null;
  const title = textOf(input.subject) ?? textOf(made.subject);
  if (id === null || id === '' || input.status === 'deleted') return [];
  const key = cutBytes(`task ${conversation.slice(0, 8)}/${id}`, 200);
  const issue = issueFact(key, title, textOf(input.status));
  const isStarted = input.status === 'in_progress';
  return [...(issue ? [issue] : []), ...(isStarted && title ? [taskFact(title)] : [])];
}

function describeTests(response: Fields, whole: unknown): Fact[] {
  const printed =
    typeof whole === 'string' ? whole : `${textOf(response.stdout) ?? ''}\n${textOf(response.stderr) ?? ''}`;
  const tests = parseTestOutput(printed);
  if (tests === null) return [];
  return [{ kind: 'current_set', key: 'testState', value: { ...tests, failing: [...tests.failing] } }];
}

/** Turns a failed tool call into facts: failing tests make their command fail. */
export function describeFailure(error: unknown): Fact[] {
  return describeTests({}, error);
}

/* What the user decided when the agent asked through a tool: the tool returns only after the user has answered. */

/** The id comes from the content, so a decision reported twice counts once. */
function decisionFact(text: string, rationale: string): Fact {
  const id = `u-${hash('sha256', `${text}\n${rationale}`).slice(0, 12)}`;
  return {
    kind: 'decision',
    id,
    text: cutBytes(text, 1_000),
    rationale: cutBytes(rationale, 1_000),
    by: 'user',
  };
}

/** An approved plan is what the agent works on now; its first line becomes a decision. */
function describePlan(input: Fields, response: Fields): Fact[] {
  const plan = (textOf(response.plan) ?? textOf(input.plan) ?? '').trim();
  if (plan === '' || response.isAgent === true) return [];
  const [first = ''] = plan.split('\n').filter((line) => line.trim() !== '');
  return [
    { kind: 'current_set', key: 'approvedPlan', value: { text: plan } },
    decisionFact(`the plan “${first.replace(/^[#\s]+/, '').trim()}”`, 'approved'),
  ];
}

/** Each answer of the user is a decision; skipped questions are not. */
function describeAnswers(input: Fields, response: Fields): Fact[] {
  const given = response.answers ?? input.answers;
  if (!isRecord(given)) return [];
  return Object.entries(given).flatMap(([question, answer]) => {
    const text = Array.isArray(answer)
      ? answer.filter((one) => typeof one === 'string').join(', ')
      : textOf(answer);
    return text === null || text.trim() === ''
      ? []
      : [decisionFact(text.trim(), `answer to “${question.trim()}”`)];
  });
}
