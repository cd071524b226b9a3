import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestRepository } from '../../support/repository.ts';

const recordHook = fileURLToPath(new URL('record-hook.mjs', import.meta.url));

/** The events of Claude Code that tell of the work, in the order a session meets them; it has more. */
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

/** Every event Codex has hooks for. */
export const codexEvents = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PermissionRequest',
  'PostToolUse',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'Stop',
  'Interrupt',
  'SessionEnd',
] as const;

export type HookCall = {
  readonly event: string;
  readonly at: number;
  /** How long the transcript was then. */
  readonly transcriptBytes: number;
  // biome-ignore lint/suspicious/noExplicitAny: what an agent hands to its hooks has no shape of ours.
  readonly input: any;
  readonly env: { readonly [name: string]: string };
};

/** Hooks into every event of Claude Code, and the status line: all that they get is kept, and answered as told. */
export function recordHooks(repository: TestRepository) {
  const folder = makeHookFolder(repository);
  const hook = { type: 'command', command: process.execPath, args: [recordHook, folder], timeout: 20 };
  writeClaudeSettings(repository, {
    hooks: Object.fromEntries(claudeEvents.map((event) => [event, [{ hooks: [hook] }]])),
    statusLine: { type: 'command', command: shellCommand(folder) },
  });
  return recordedIn(folder);
}

/**
 * Hooks into every event of Codex. `trust` is what has to be in its `config.toml` for them to run: it skips
 * hooks in silence whose digest the user has not approved.
 */
export function recordCodexHooks(repository: TestRepository) {
  const folder = makeHookFolder(repository);
  // Three seconds are the most it allows for the end of a session.
  const hook = { type: 'command', command: shellCommand(folder), timeout: 3 };
  const file = join(repository.home, '.codex', 'hooks.json');
  mkdirSync(dirname(file), { recursive: true });
  const hooks = Object.fromEntries(codexEvents.map((event) => [event, [{ hooks: [hook] }]]));
  writeFileSync(file, JSON.stringify({ hooks }, null, 2));
  const trust = codexEvents.map((event) => trustOf(file, event, hook)).join('\n');
  return { ...recordedIn(folder), trust };
}

/** Codex's mark of approval for the first hook of an event: a digest of the hook, its keys in order. */
export function trustOf(file: string, event: string, hook: { command: string; timeout: number }): string {
  const event_name = event.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase();
  const { command, timeout } = hook;
  const identity = { event_name, hooks: [{ async: false, command, timeout, type: 'command' }] };
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  return `[hooks.state.${JSON.stringify(`${file}:${event_name}:0:0`)}]\ntrusted_hash = "sha256:${digest}"\n`;
}

function makeHookFolder(repository: TestRepository): string {
  const folder = join(repository.home, 'hooks');
  mkdirSync(folder, { recursive: true });
  return folder;
}

function shellCommand(folder: string): string {
  return [process.execPath, recordHook, folder].map((word) => `'${word}'`).join(' ');
}

/** What the hooks were given so far, and a way to say what they answer from now on. */
function recordedIn(folder: string) {
  return {
    calls(event?: string): HookCall[] {
      const file = join(folder, 'calls.jsonl');
      if (!existsSync(file)) return [];
      // The last piece is not whole until its newline is there.
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      const all: HookCall[] = lines.map((line) => JSON.parse(line));
      return event === undefined ? all : all.filter((call) => call.event === event);
    },
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
