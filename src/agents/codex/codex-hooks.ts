import type { OrchCommand } from '../orch-command.ts';
import {
  addHooks,
  countHooks,
  type EventHooks,
  hasHooks,
  ifReadable,
  makeHook,
  readHookable,
  removeHooks,
} from '../settings/hook-entries.ts';
import { type Problem, readJson } from '../settings/json-text.ts';

/** In seconds; Codex skips a hook that may take longer at the end of a session. */
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
 * Adds orch's hooks to Codex's `hooks.json`, and replaces those of an older orch. The user has to trust them in Codex
 * (`/hooks`) before they run. Codex remembers trust by position, so existing hooks keep theirs.
 */
export function addOrch(
  text: string | null,
  options: { readonly command: OrchCommand; readonly shared: boolean },
): { readonly text: string } | Problem {
  const wanted = chooseHooks(options);
  if (text === null) return { text: addHooks(null, wanted) };
  const json = readHookable(text);
  if ('problem' in json) return json;
  if (hasHooks(json.value, 'codex', wanted)) return { text };
  return ifReadable(addHooks(removeHooks(text, 'codex'), wanted));
}

/** Removes exactly orch's hooks from Codex's `hooks.json`; the text is null if nothing else was in the file. */
export function removeOrch(text: string): { readonly text: string | null } | Problem {
  const json = readJson(text);
  return 'problem' in json ? json : { text: removeHooks(text, 'codex') };
}

/** Does the file contain only orch's hooks? */
export function isOwnFile(text: string): boolean {
  const removed = removeOrch(text);
  return 'text' in removed && removed.text === null;
}

/** Counts orch's hooks; zero if the file is broken. */
export function countOwnHooks(text: string | null): number {
  return countHooks(text, 'codex');
}

function chooseHooks(options: { command: OrchCommand; shared: boolean }): EventHooks {
  const timeoutOf = (event: string) => (event === 'SessionEnd' ? endTimeout : undefined);
  return events.map((event) => [event, makeHook('codex', options, timeoutOf(event))]);
}
