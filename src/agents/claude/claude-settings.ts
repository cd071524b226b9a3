import { isRecord } from '../../checks.ts';
import { quoteForShell } from '../../text.ts';
import { type OrchCommand, readOwnLine, readThen, writeThen } from '../orch-command.ts';
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
import {
  appendEntry,
  type Problem,
  readJson,
  removeEntry,
  replaceValue,
  type Settings,
  sliceValue,
  writeLike,
} from '../settings/json-text.ts';
import { wrapToolHook } from './tool-hook-line.ts';

type ClaudeOptions = {
  readonly command: OrchCommand;
  /** For committed settings: no path of this machine, and silent if orch is missing. */
  readonly shared: boolean;
  /** Claude Code's version (`2.1.325`), if known. */
  readonly version: string | null;
  /** Do other settings have the hooks already? A second set would report each event twice. */
  readonly isHookedElsewhere?: boolean;
  /** The source text of a status line in other settings, which ours would hide. */
  readonly inheritedStatusLine?: string | null;
};

/**
 * The events orch listens to, and the version that introduced each. Claude Code ignores the whole file if it does not
 * know an event, so an unknown version only gets the old ones.
 */
const events: readonly (readonly [event: string, since: readonly [number, number, number] | null])[] = [
  ['SessionStart', null],
  ['UserPromptSubmit', null],
  ['PreToolUse', null],
  ['PostToolUse', null],
  ['PostToolUseFailure', [2, 1, 76]],
  ['PermissionRequest', [2, 0, 45]],
  ['Notification', null],
  ['SubagentStop', null],
  ['PreCompact', null],
  ['PostCompact', [2, 1, 76]],
  ['Stop', null],
  ['StopFailure', [2, 1, 78]],
  ['SessionEnd', null],
];

/** Adds orch's hooks and status line to Claude Code's settings, and replaces those of an older orch. */
export function addOrch(text: string | null, options: ClaudeOptions): { readonly text: string } | Problem {
  const wanted = chooseHooks(options);
  let clean = text;
  if (text !== null) {
    const json = readHookable(text);
    if ('problem' in json) return json;
    if (hasHooks(json.value, 'claude', wanted) && hasStatusLine(json.value, options)) return { text };
    clean = withoutOrch(text);
  }
  if (clean === null && wanted.length === 0) return { text: writeStatusLine(options) };
  const hooked = addHooks(clean, wanted);
  return ifReadable(options.shared ? hooked : addStatusLine(hooked, options));
}

/** Removes exactly orch's entries from Claude Code's settings; the text is null if nothing else was in the file. */
export function removeOrch(text: string): { readonly text: string | null } | Problem {
  const json = readJson(text);
  return 'problem' in json ? json : { text: withoutOrch(text) };
}

/** Reads what these settings contain of orch; nothing if they are broken. */
export function readOwnEntries(text: string | null): {
  readonly hooks: number;
  readonly hasStatusLine: boolean;
  /** Does ours run the user's own status line? */
  readonly isChained: boolean;
} {
  const args = readStatusLine(readSettings(text).statusLine);
  return {
    hooks: countHooks(text, 'claude'),
    hasStatusLine: args !== null,
    isChained: args !== null && readThen(args) !== null,
  };
}

/** Reads the source text of a status line that is not ours, if there is one. */
export function readForeignStatusLine(text: string | null): string | null {
  const json = readJson(text ?? '');
  if (text === null || 'problem' in json) return null;
  const { statusLine } = json.value;
  const isForeign = isRecord(statusLine) && readStatusLine(statusLine) === null;
  return isForeign ? sliceValue(text, json, ['statusLine']) : null;
}

/** Broken settings count as empty. */
function readSettings(text: string | null | undefined): Settings {
  const json = readJson(text ?? '');
  return 'problem' in json ? {} : json.value;
}

function withoutOrch(text: string): string | null {
  const hookless = removeHooks(text, 'claude');
  return hookless === null ? null : removeStatusLine(hookless);
}

/** Reads the user's own status line from the arguments of orch's, if there is one. */
export function readChainedStatusLine(args: readonly string[]): { readonly command: string } | null {
  const { type, command } = readSettings(readThen(args));
  return type === 'command' && typeof command === 'string' ? { command } : null;
}

function chooseHooks(options: ClaudeOptions): EventHooks {
  if (options.isHookedElsewhere) return [];
  const usual = makeHook('claude', options);
  const ofTool = { ...usual, command: wrapToolHook(usual.command) };
  const known = events.filter(([, since]) => since === null || isAtLeast(options.version, since));
  return known.map(([event]) => [event, ofTools.includes(event) ? ofTool : usual]);
}

/** The events of every tool call. */
const ofTools: readonly string[] = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'];

function isAtLeast(version: string | null, since: readonly number[]): boolean {
  const found = /(\d+)\.(\d+)\.(\d+)/
    .exec(version ?? '')
    ?.slice(1)
    .map(Number);
  if (!found) return false;
  const differing = since.findIndex((part, index) => part !== found[index]);
  return differing === -1 || (found[differing] ?? 0) > (since[differing] ?? 0);
}

/** Shared settings get no status line: it would hide every teammate's own. */
function hasStatusLine({ statusLine: value }: Settings, options: ClaudeOptions): boolean {
  const own = readStatusLine(value);
  if (options.shared) return own === null;
  if (own === null) return false;
  const words = readReplaced(own) === null ? statusLineWords(options) : [...options.command, ...own];
  return isRecord(value) && value.command === quoteForShell(words);
}

function readStatusLine(value: unknown): readonly string[] | null {
  const args = isRecord(value) ? readOwnLine(value.command) : null;
  return args?.[0] === 'statusline' ? args : null;
}

/** The value we replaced in this file. One from other settings starts with a space, to tell them apart. */
function readReplaced(args: readonly string[]): string | null {
  const then = readThen(args);
  return then?.startsWith(' ') ? null : then;
}

function statusLineWords({ command, inheritedStatusLine }: ClaudeOptions): string[] {
  const then = inheritedStatusLine ? [writeThen(` ${inheritedStatusLine}`)] : [];
  return [...command, 'statusline', ...then];
}

/** Our entry for a file that had none. It keeps the fields of the hidden one (`padding`). */
function makeStatusLine(options: ClaudeOptions): object {
  return {
    ...readSettings(options.inheritedStatusLine),
    type: 'command',
    command: quoteForShell(statusLineWords(options)),
  };
}

function writeStatusLine(options: ClaudeOptions): string {
  return `${JSON.stringify({ statusLine: makeStatusLine(options) }, null, 2)}\n`;
}

function addStatusLine(text: string, options: ClaudeOptions): string {
  const json = readJson(text);
  if ('problem' in json) return text;
  const theirs = sliceValue(text, json, ['statusLine']);
  if (theirs === null) return appendEntry(text, [], 'statusLine', makeStatusLine(options));
  const words = [...options.command, 'statusline', writeThen(theirs)];
  // The user's other fields stay (`padding`).
  const fields = isRecord(json.value.statusLine) ? json.value.statusLine : {};
  const value = { ...fields, type: 'command', command: quoteForShell(words) };
  return replaceValue(text, ['statusLine'], writeLike(text, 1, value));
}

function removeStatusLine(text: string): string | null {
  const args = readStatusLine(readSettings(text).statusLine);
  if (!args) return text;
  const theirs = readReplaced(args);
  return theirs === null ? removeEntry(text, ['statusLine']) : replaceValue(text, ['statusLine'], theirs);
}
