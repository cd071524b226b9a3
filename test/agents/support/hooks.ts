import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestRepository } from '../../support/repository.ts';

const recordHook = fileURLToPath(new URL('record-hook.mjs', import.meta.url));

/** Every event Claude Code 2.1.325 has hooks for, in the order a session meets them. */
export const claudeEvents = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'SubagentStart',
  'SubagentStop',
  'TaskCreated',
  'TaskCompleted',
  'Notification',
  'PreCompact',
  'PostCompact',
  'Stop',
  'StopFailure',
  'SessionEnd',
] as const;

export type HookCall = {
  readonly event: string;
  readonly at: number;
  // biome-ignore lint/suspicious/noExplicitAny: what an agent hands to its hooks has no shape of ours.
  readonly input: any;
  readonly env: { readonly [name: string]: string };
};

/** Hooks into every event of Claude Code, and the status line: all that they get is kept, and answered as told. */
export function recordHooks(repository: TestRepository) {
  const folder = join(repository.home, 'hooks');
  mkdirSync(folder, { recursive: true });
  const hook = { type: 'command', command: process.execPath, args: [recordHook, folder], timeout: 20 };
  const quoted = [process.execPath, recordHook, folder].map((word) => `'${word}'`).join(' ');
  writeClaudeSettings(repository, {
    hooks: Object.fromEntries(claudeEvents.map((event) => [event, [{ hooks: [hook] }]])),
    statusLine: { type: 'command', command: quoted },
  });
  const calls = (event?: string): HookCall[] => {
    const file = join(folder, 'calls.jsonl');
    if (!existsSync(file)) return [];
    // The last piece is not whole until its newline is there.
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    const all: HookCall[] = lines.map((line) => JSON.parse(line));
    return event === undefined ? all : all.filter((call) => call.event === event);
  };
  return {
    calls,
    /** From now on the hook prints this for an event; objects as JSON. */
    answer(event: string, answer: object | string): void {
      const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
      writeFileSync(join(folder, `${event}.answer`), text);
    },
  };
}

/** Writes the user's own settings of a repository. */
export function writeClaudeSettings(repository: TestRepository, settings: object): void {
  mkdirSync(join(repository.folder, '.claude'), { recursive: true });
  repository.write('.claude/settings.local.json', JSON.stringify(settings, null, 2));
}
