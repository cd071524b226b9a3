import { basename } from 'node:path';
import { readCalmLine } from './calm-line.ts';

/** How orch is started: the program alone, or the one that runs it and its script. */
export type OrchCommand = readonly string[];

/** Spells words for a POSIX shell. */
export function quoteForShell(words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/**
 * A line for settings that a team shares: where orch is not installed, it does nothing, quickly and silently.
 * Whatever happens, it succeeds, because a failing hook disturbs the agent.
 */
export function guardForShell(args: readonly string[]): string {
  return `command -v orch >/dev/null 2>&1 && ${quoteForShell(['orch', ...args])} || true`;
}

/** The arguments, where a line is one of orch's own and nothing else; null for everybody else's. */
export function readOwnLine(line: unknown): readonly string[] | null {
  if (typeof line !== 'string') return null;
  const inner = readCalmLine(line) ?? line;
  const guarded = /^command -v orch >\/dev\/null 2>&1 && (orch [^&|;<>]*) \|\| true$/.exec(inner)?.[1];
  return readOwnWords(splitPlainLine(guarded ?? inner));
}

/** The program that a line of orch's own starts, and its script; null where it takes orch from the path. */
export function readOwnProgram(line: string): readonly string[] | null {
  const words = splitPlainLine(readCalmLine(line) ?? line);
  const args = readOwnWords(words);
  const program = words && args ? words.slice(0, words.length - args.length) : [];
  return program.some((word) => /[\\/]/.test(word)) ? program : null;
}

/** The same for words. */
export function readOwnWords(words: readonly string[] | null): readonly string[] | null {
  const [first = '', second = ''] = words ?? [];
  if (isOrch(first)) return words?.slice(1) ?? null;
  return /^(?:node|bun)(?:\.exe)?$/.test(nameOf(first)) && isOrch(second) ? (words?.slice(2) ?? null) : null;
}

const thenOption = '--then=';

/** What stands in the user's file in our place, as an argument: so that it runs too, and can be put back. */
export function writeThen(source: string): string {
  return thenOption + Buffer.from(source).toString('base64url');
}

/** Reads such an argument, among others; null where there is none. */
export function readThen(args: readonly string[]): string | null {
  const option = args.find((arg) => arg.startsWith(thenOption));
  return option === undefined
    ? null
    : Buffer.from(option.slice(thenOption.length), 'base64url').toString('utf8');
}

// An unquoted `~`, `\` or `=` can mean something else to a shell; behind an option's name it cannot.
const plainWord = /^[\w@%+:,./-]+$|^--[\w-]+=[\w-]*$/;

/** The words of a line of plain and single-quoted words; null for a line that does anything else. */
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
