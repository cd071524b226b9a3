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
import { unlessCalm } from './calm-line.ts';
import { appendEntry, removeEntry, replaceNode, writeLike } from './json-edit.ts';
import { findMember, isRecord, type JsonNode, readJson } from './json-text.ts';
import {
  guardForShell,
  type OrchCommand,
  quoteForShell,
  readOwnLine,
  readThen,
  writeThen,
} from './orch-command.ts';

export type ClaudeOptions = {
  readonly command: OrchCommand;
  /** For settings that are committed: no path of this machine, and silent where orch is missing. */
  readonly shared: boolean;
  /** Claude Code's version, where it is known (`2.1.325`). */
  readonly version: string | null;
  /** Do other settings that it reads have the hooks already? Here they would make each event happen twice. */
  readonly isHookedElsewhere?: boolean;
  /** The status line of other settings, which ours would hide, as it is written there. */
  readonly inheritedStatusLine?: string | null;
};

/** In seconds; past it Claude Code goes on without an answer. */
const usualTimeout = 30;

/**
 * The events orch listens to, and the version that brought each. One that Claude Code does not know
 * makes it skip the whole file, so a version nobody knows gets the old ones only.
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

/** Adds orch's hooks and status line to Claude Code's settings; an older orch in them is replaced. */
export function addOrch(text: string | null, options: ClaudeOptions): { readonly text: string } | Problem {
  const wanted = chooseHooks(options);
  let clean = text;
  if (text !== null) {
    const root = readJson(text);
    if ('problem' in root) return root;
    const problem = findProblem(root);
    if (problem !== null) return { problem };
    if (hasHooks(root, 'claude', wanted) && hasStatusLine(root, options)) return { text };
    clean = withoutOrch(text);
  }
  if (clean === null && wanted.length === 0) return { text: writeStatusLine(options) };
  const hooked = clean === null ? writeHooks(wanted) : addHooks(clean, wanted);
  return ifReadable(options.shared ? hooked : addStatusLine(hooked, options));
}

/** Takes exactly orch's entries out of Claude Code's settings; null where the file was orch's alone. */
export function removeOrch(text: string): { readonly text: string | null } | Problem {
  const root = readJson(text);
  return 'problem' in root ? root : { text: withoutOrch(text) };
}

/** What of orch is in these settings; of broken ones, nothing. */
export function readOwnEntries(text: string | null): {
  readonly hooks: number;
  readonly hasStatusLine: boolean;
  /** Does somebody else's status line run in ours? */
  readonly isChained: boolean;
} {
  const root = readJson(text ?? '');
  if ('problem' in root) return { hooks: 0, hasStatusLine: false, isChained: false };
  const args = readStatusLine(findMember(root, 'statusLine')?.value);
  return {
    hooks: countHooks(root, 'claude'),
    hasStatusLine: args !== null,
    isChained: args !== null && readThen(args) !== null,
  };
}

/** The status line of these settings as it is written there; null where there is none, or it is ours. */
export function readForeignStatusLine(text: string | null): string | null {
  const root = readJson(text ?? '');
  const node = 'problem' in root ? null : findMember(root, 'statusLine');
  if (text === null || !node || !isRecord(node.value) || readStatusLine(node.value)) return null;
  return text.slice(node.start, node.end);
}

function withoutOrch(text: string): string | null {
  const hookless = removeHooks(text, 'claude');
  return hookless === null ? null : removeStatusLine(hookless);
}

/** The user's own status line, from the arguments orch's was called with; null where they have none. */
export function readChainedStatusLine(args: readonly string[]): { readonly command: string } | null {
  const root = readJson(readThen(args) ?? '');
  if ('problem' in root || !isRecord(root.value)) return null;
  const { type, command } = root.value;
  return type === 'command' && typeof command === 'string' ? { command } : null;
}

function chooseHooks({ command, shared, version, isHookedElsewhere }: ClaudeOptions): EventHooks {
  if (isHookedElsewhere) return [];
  const args = ['hook', 'claude'];
  const line = shared ? guardForShell(args) : quoteForShell([...command, ...args]);
  const known = events.filter(([, since]) => since === null || isAtLeast(version, since));
  const lineOf = (event: string) => (ofTools.includes(event) ? unlessCalm(line) : line);
  return known.map(([event]) => [event, { type: 'command', command: lineOf(event), timeout: usualTimeout }]);
}

/** What happens at every tool call. */
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

/** A shared one would take every teammate's own status line away, so there is none. */
function hasStatusLine(root: JsonNode, options: ClaudeOptions): boolean {
  const value = findMember(root, 'statusLine')?.value;
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

/** What stood in this file in our place; what only other settings have begins with a space, to tell them apart. */
function readReplaced(args: readonly string[]): string | null {
  const then = readThen(args);
  return then?.startsWith(' ') ? null : then;
}

function statusLineWords({ command, inheritedStatusLine }: ClaudeOptions): string[] {
  const then = inheritedStatusLine ? [writeThen(` ${inheritedStatusLine}`)] : [];
  return [...command, 'statusline', ...then];
}

/** Ours where the file had none; how the hidden one was placed stays (`padding`). */
function makeStatusLine(options: ClaudeOptions): object {
  const inherited = readJson(options.inheritedStatusLine ?? '');
  const fields = 'problem' in inherited || !isRecord(inherited.value) ? {} : inherited.value;
  return { ...fields, type: 'command', command: quoteForShell(statusLineWords(options)) };
}

function writeStatusLine(options: ClaudeOptions): string {
  return `${JSON.stringify({ statusLine: makeStatusLine(options) }, null, 2)}\n`;
}

function addStatusLine(text: string, options: ClaudeOptions): string {
  const root = readJson(text);
  if ('problem' in root) return text;
  const theirs = findMember(root, 'statusLine');
  if (!theirs) return appendEntry(text, root, 0, { key: 'statusLine', value: makeStatusLine(options) });
  const words = [...options.command, 'statusline', writeThen(text.slice(theirs.start, theirs.end))];
  // How it is placed stays theirs (`padding`).
  const fields = isRecord(theirs.value) ? theirs.value : {};
  const value = { ...fields, type: 'command', command: quoteForShell(words) };
  return replaceNode(text, theirs, writeLike(text, 1, value));
}

function removeStatusLine(text: string): string | null {
  const root = readJson(text);
  if ('problem' in root) return text;
  const index = root.children?.findLastIndex(({ key }) => key === 'statusLine') ?? -1;
  const node = root.children?.[index]?.node;
  const args = readStatusLine(node?.value);
  if (!node || !args) return text;
  const theirs = readReplaced(args);
  return theirs === null ? removeEntry(text, [{ container: root, index }]) : replaceNode(text, node, theirs);
}
