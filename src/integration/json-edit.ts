import type { JsonChild, JsonNode } from './json-text.ts';

/** An object or a list, and which of its entries is meant: the way down to one. */
export type JsonStep = { readonly container: JsonNode; readonly index: number };

/**
 * Adds an entry at the end of an object or a list. What was empty gets it on the same line:
 * so an own container, which begins with a line end, can be told from one that was there before.
 */
export function appendEntry(
  text: string,
  { start, children }: JsonNode,
  depth: number,
  { key, value }: { readonly key: string | null; readonly value: unknown },
): string {
  const { lineEnd, step } = findLayout(text);
  const indent = lineEnd + step.repeat(depth + 1);
  const entry = `${key === null ? '' : `${JSON.stringify(key)}: `}${writeJson(value, step, indent)}`;
  const last = children?.at(-1);
  return last
    ? splice(text, last.node.end, last.node.end, `,${indent}${entry}`)
    : splice(text, start + 1, start + 1, entry);
}

/** Takes an entry out again, with the containers that were made for it; null where that is the whole text. */
export function removeEntry(text: string, path: readonly JsonStep[]): string | null {
  const last = path.at(-1);
  if (!last) return null;
  const { container, index } = last;
  const children: readonly JsonChild[] = container.children ?? [];
  const [before, entry, after] = [children[index - 1], children[index], children[index + 1]];
  if (!entry) return text;
  if (before) return splice(text, before.node.end, entry.node.end, '');
  if (after) return splice(text, entry.start, after.start, '');
  if (/[\r\n]/.test(text[container.start + 1] ?? '')) return removeEntry(text, path.slice(0, -1));
  return splice(text, container.start + 1, entry.node.end, '');
}

/** Puts another value in the place of one. */
export function replaceNode(text: string, { start, end }: JsonNode, put: string): string {
  return splice(text, start, end, put);
}

/** A value as the text around it is written. */
export function writeLike(text: string, depth: number, value: unknown): string {
  const { lineEnd, step } = findLayout(text);
  return writeJson(value, step, lineEnd + step.repeat(depth));
}

function writeJson(value: unknown, step: string, indent: string): string {
  return JSON.stringify(value, null, step).replaceAll('\n', indent);
}

function findLayout(text: string): { lineEnd: string; step: string } {
  const [, step = '  '] = /\n([ \t]{1,8})"/.exec(text) ?? [];
  return { lineEnd: /\r?\n/.exec(text)?.[0] ?? '\n', step };
}

function splice(text: string, start: number, end: number, put: string): string {
  return text.slice(0, start) + put + text.slice(end);
}
