import {
  addHooks,
  countHooks,
  type EventHooks,
  findProblem,
  hasHooks,
  ifReadable,
  type Problem,
  removeHooks,
  writeHooks,
} from './agent-hooks.ts';
import { readJson } from './json-text.ts';
import { guardForShell, type OrchCommand, quoteForShell } from './orch-command.ts';

/** In seconds; past it Codex goes on without an answer. */
const usualTimeout = 30;
/** One that may take longer at the end of a session is not run. */
const endTimeout = 3;

const events = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PreCompact',
  'PostCompact',
  'Stop',
  'SessionEnd',
] as const;

/**
 * Adds orch's hooks to Codex's `hooks.json`; an older orch in it is replaced. The user has to trust them in Codex
 * (`/hooks`) before they run: it remembers each hook's place, so those that are there keep theirs.
 */
export function addOrch(
  text: string | null,
  options: { readonly command: OrchCommand; readonly shared: boolean },
): { readonly text: string } | Problem {
  const wanted = chooseHooks(options);
  if (text === null) return { text: writeHooks(wanted) };
  const root = readJson(text);
  if ('problem' in root) return root;
  const problem = findProblem(root);
  if (problem !== null) return { problem };
  if (hasHooks(root, 'codex', wanted)) return { text };
  const clean = removeHooks(text, 'codex');
  return ifReadable(clean === null ? writeHooks(wanted) : addHooks(clean, wanted));
}

/** Takes exactly orch's hooks out of Codex's `hooks.json`; null where the file was orch's alone. */
export function removeOrch(text: string): { readonly text: string | null } | Problem {
  const root = readJson(text);
  return 'problem' in root ? root : { text: removeHooks(text, 'codex') };
}

/** Is nothing in it but orch's hooks? */
export function isOwnFile(text: string): boolean {
  const removed = removeOrch(text);
  return 'text' in removed && removed.text === null;
}

/** How many hooks of orch are in it; in a broken one, none. */
export function countOwnHooks(text: string | null): number {
  const root = readJson(text ?? '');
  return 'problem' in root ? 0 : countHooks(root, 'codex');
}

function chooseHooks({ command, shared }: { command: OrchCommand; shared: boolean }): EventHooks {
  const args = ['hook', 'codex'];
  const line = shared ? guardForShell(args) : quoteForShell([...command, ...args]);
  const timeoutOf = (event: (typeof events)[number]) => (event === 'SessionEnd' ? endTimeout : usualTimeout);
  return events.map((event) => [event, { type: 'command', command: line, timeout: timeoutOf(event) }]);
}
