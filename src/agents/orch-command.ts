import { basename } from 'node:path';
import { quoteForShell } from '../text.ts';
import { unwrapToolHook } from './claude/tool-hook-line.ts';

/** How orch is started: its program, or a runtime and its script. */
export type OrchCommand = readonly string[];

/**
 * Writes a command line for settings a team shares: without orch installed, it does nothing, quickly and silently.
 * It always succeeds, because a failing hook disturbs the agent.
 */
export function guardForShell(args: readonly string[]): string {
  return `command -v orch >/dev/null 2>&1 && ${quoteForShell(['orch', ...args])} || true`;
}

/** Reads the arguments of a command line that calls orch and nothing else; null for any other line. */
export function readOwnLine(line: unknown): readonly string[] | null {
  if (typeof line !== 'string') return null;
  const inner = unwrapToolHook(line) ?? line;
  const guarded = /^command -v orch >\/dev\/null 2>&1 && (orch [^&|;<>]*) \|\| true$/.exec(inner)?.[1];
  return readOwnWords(splitPlainLine(guarded ?? inner));
}

/** Reads which program a command line of orch starts; null if it finds orch on the PATH. */
export function readOwnProgram(line: string): readonly string[] | null {
  const words = splitPlainLine(unwrapToolHook(line) ?? line);
  const args = readOwnWords(words);
  const program = words && args ? words.slice(0, words.length - args.length) : [];
  return program.some((word) => /[\\/]/.test(word)) ? program : null;
}

/** Reads the arguments of a command, given as words, that calls orch; null for any other. */
export function readOwnWords(words: readonly string[] | null): readonly string[] | null {
  const [first = '', second = ''] = words ?? [];
  if (isOrch(first)) return words?.slice(1) ?? null;
  return /^(?:node|bun)(?:\.exe)?$/.test(nameOf(first)) && isOrch(second) ? (words?.slice(2) ?? null) : null;
}

const thenOption = '--then=';

/** Encodes the user's own setting as an argument of ours, so that it still runs and can be put back. */
export function writeThen(source: string): string {
  return thenOption + Buffer.from(source).toString('base64url');
}

/** Decodes the user's own setting from the arguments, if there is one. */
export function readThen(args: readonly string[]): string | null {
  const option = args.find((arg) => arg.startsWith(thenOption));
  return option === undefined
    ? null
    : Buffer.from(option.slice(thenOption.length), 'base64url').toString('utf8');
}

/** Splits a line of plain and single-quoted words; null if the line does anything else. */
function splitPlainLine(line: string): string[] | null {
  const words: string[] = [];
  for (const part of line.matchAll(/((?:'[^']*'|\\'|[\w@%+=:,./~-])+)( |$)|([\s\S])/g)) {
    const [, word, , rest] = part;
    if (rest !== undefined || word === undefined) return null;
    words.push(word.replace(/'([^']*)'|\\(')/g, '$1$2'));
  }
  return words;
}

function isOrch(program: string): boolean {
  return /^orch(?:\.[cm]?js|\.cmd|\.exe)?$/.test(nameOf(program));
}

function nameOf(program: string): string {
  return basename(program.replaceAll('\\', '/'));
}
