import { isAbsolute, relative } from 'node:path';
import { lookUp } from '../keyed.ts';
import { maxKeyLength } from '../state/fact-check.ts';
import type { Fact } from '../state/facts.ts';
import { cutBytes } from '../text.ts';
import type { Json } from '../types.ts';
import { describeAnswers, describePlan } from './plan-call.ts';
import { parseTestOutput } from './test-output.ts';

export type Fields = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

/** What the use of a tool tells, as facts. Paths are from the folder the agent was in. */
export function describeTool(
  { tool_name, tool_input, tool_response }: Fields,
  { cwd, conversation }: { readonly cwd: string | null; readonly conversation: string },
): Fact[] {
  const input = isObject(tool_input) ? tool_input : {};
  const response = isObject(tool_response) ? tool_response : {};
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

/** Can a file be kept under this name? A part of it would be another file's. */
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

/** A patch as Codex applies it: `*** Update File: src/a.ts`, then its lines. */
function describePatch(patch: string): Fact[] {
  const files = [...patch.matchAll(/^\*\*\* (Add|Update|Delete) File: (.+)$/gm)];
  return files.flatMap(([, word = '', name = '']): Fact[] => {
    const path = name.trim();
    const change = patchKinds[word];
    if (change === undefined || !isPath(path)) return [];
    return [{ kind: 'file', path, change, added: null, removed: null, priority: null, why: null }];
  });
}

/** A patch as Claude Code gives it: hunks whose lines begin with `+`, `-` or a space. */
function countLines(patch: Json | undefined): { added: number | null; removed: number | null } {
  if (!Array.isArray(patch)) return { added: null, removed: null };
  const lines = patch.flatMap((hunk: Json) =>
    isObject(hunk) && Array.isArray(hunk.lines) ? hunk.lines : [],
  );
  const beginning = (mark: string) =>
    lines.filter((line: Json) => typeof line === 'string' && line.startsWith(mark)).length;
  return { added: beginning('+'), removed: beginning('-') };
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

/** The agent's list of things to do. An item has no id: its text is one. */
function describeTodos({ todos }: Fields): Fact[] {
  const items = Array.isArray(todos) ? todos.filter(isObject) : [];
  return items.flatMap(({ content, status }): Fact[] => {
    const text = textOf(content);
    if (text === null || text === '') return [];
    const issue = issueFact(`todo: ${cutBytes(text, 200)}`, text, textOf(status));
    return [...(issue ? [issue] : []), ...(status === 'in_progress' ? [taskFact(text)] : [])];
  });
}

/** Its number begins at 1 in every conversation: with the conversation's name it is nobody else's. */
function describeTask(input: Fields, response: Fields, conversation: string): Fact[] {
  const made = isObject(response.task) ? response.task : response;
  const given = input.taskId ?? made.id ?? made.taskId;
  const id = typeof given === 'string' || typeof given === 'number' ? String(given) : null;
  const title = textOf(input.subject) ?? textOf(made.subject);
  if (id === null || id === '' || input.status === 'deleted') return [];
  const key = cutBytes(`task ${conversation.slice(0, 8)}/${id}`, 200);
  const issue = issueFact(key, title, textOf(input.status));
  const isBegun = input.status === 'in_progress' && title !== null;
  return [...(issue ? [issue] : []), ...(isBegun && title ? [taskFact(title)] : [])];
}

/** What a test runner said, where a command was one. */
function describeTests(response: Fields, whole: Json | undefined): Fact[] {
  const printed =
    typeof whole === 'string' ? whole : `${textOf(response.stdout) ?? ''}\n${textOf(response.stderr) ?? ''}`;
  const tests = parseTestOutput(printed);
  if (tests === null) return [];
  return [{ kind: 'current_set', key: 'testState', value: { ...tests, failing: [...tests.failing] } }];
}

/** What a tool that failed tells: tests that fail make their command fail. */
export function describeFailure(error: Json | undefined): Fact[] {
  return describeTests({}, error);
}
