import type { Problem } from './agent-hooks.ts';
import { type OrchCommand, readOwnWords, readThen, writeThen } from './orch-command.ts';
import { readStrings, readToml, type TomlEntry } from './toml-text.ts';

/**
 * Has Codex tell orch when a turn has ended, by `notify` in its `config.toml`: all there is in versions without hooks,
 * and what works without being trusted first. The user's own `notify` is kept as an argument, to be run too.
 */
export function addOrch(
  text: string | null,
  { command }: { readonly command: OrchCommand },
): { readonly text: string } | Problem {
  const words = [...command, 'hook', 'codex'];
  if (text === null) return { text: `${writeNotify(words)}\n` };
  const entries = readToml(text);
  if ('problem' in entries) return entries;
  const found = findNotify(entries);
  if ('problem' in found) return found;
  const { notify } = found;
  if (!notify) return ifReadable(insertNotify(text, entries, writeNotify(words)));
  const value = text.slice(notify.valueStart, notify.valueEnd);
  const own = readOwn(value);
  if (!own && readStrings(value) === null) return { problem: 'its notify is no list of texts' };
  const theirs = own ? readThen(own) : value;
  const wanted = writeList(theirs === null ? words : [...words, writeThen(theirs)]);
  return own && sameWords(value, wanted) ? { text } : ifReadable(replaceValue(text, notify, wanted));
}

/** What was put in must be found again to be taken out: a file that is nearly too large may be so with orch in it. */
function ifReadable(text: string): { readonly text: string } | Problem {
  const entries = readToml(text);
  return 'problem' in entries ? entries : { text };
}

/** Takes exactly that out again; null where the file was orch's alone. */
export function removeOrch(text: string): { readonly text: string | null } | Problem {
  const entries = readToml(text);
  if ('problem' in entries) return entries;
  const found = findNotify(entries);
  if ('problem' in found) return found;
  const { notify } = found;
  const own = notify ? readOwn(text.slice(notify.valueStart, notify.valueEnd)) : null;
  if (!notify || !own) return { text };
  const theirs = readThen(own);
  if (theirs !== null) return { text: replaceValue(text, notify, theirs) };
  return { text: removeLine(text, notify) };
}

/** The user's own program and its arguments, from those orch was called with; null where they have none. */
export function readChainedNotify(args: readonly string[]): string[] | null {
  const words = readStrings(readThen(args) ?? '');
  return words && words.length > 0 ? words : null;
}

function findNotify(entries: readonly TomlEntry[]): { readonly notify: TomlEntry | null } | Problem {
  const found = entries.filter(({ key }) => key === 'notify');
  return found.length > 1 ? { problem: 'the key notify is there twice' } : { notify: found[0] ?? null };
}

/** The arguments of orch, where this is how it is called. */
function readOwn(value: string): readonly string[] | null {
  const args = readOwnWords(readStrings(value));
  return args?.[0] === 'hook' && args[1] === 'codex' ? args : null;
}

function sameWords(value: string, wanted: string): boolean {
  return JSON.stringify(readStrings(value)) === JSON.stringify(readStrings(wanted));
}

function writeNotify(words: readonly string[]): string {
  return `notify = ${writeList(words)}`;
}

/** JSON's texts are TOML's, but for one character. */
function writeList(words: readonly string[]): string {
  return `[${words.map((word) => JSON.stringify(word).replaceAll('\u007f', '\\u007f')).join(', ')}]`;
}

function replaceValue(text: string, { valueStart, valueEnd }: TomlEntry, put: string): string {
  return text.slice(0, valueStart) + put + text.slice(valueEnd);
}

/** Behind the last key of the top, or at the very top: below a table it would belong to that. */
function insertNotify(text: string, entries: readonly TomlEntry[], line: string): string {
  const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n';
  const last = entries.at(-1);
  if (last) {
    const at = endOfLine(text, last.valueEnd);
    return `${text.slice(0, at)}${lineEnd}${line}${text.slice(at)}`;
  }
  const at = text.startsWith('\uFEFF') ? 1 : 0;
  return `${text.slice(0, at)}${line}${text.length > at ? lineEnd : ''}${text.slice(at)}`;
}

/** The line with the line end that came with it: the one before it, or at the top the one behind. */
function removeLine(text: string, { start, valueEnd }: TomlEntry): string | null {
  const end = endOfLine(text, valueEnd);
  const before = text.slice(0, start);
  const after = text.slice(end);
  if (before === '' && after === '\n') return null;
  return /\n$/.test(before) ? before.replace(/\r?\n$/, '') + after : before + after.replace(/^\r?\n/, '');
}

function endOfLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' ? end - 1 : end;
}
