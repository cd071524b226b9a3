import { createScanner, getNodeValue, type Node, type ParseError, parseTree, visit } from 'jsonc-parser';

/* Edits JSON settings with comments and trailing commas so that removing an entry restores every byte. */

export type Settings = { readonly [name: string]: unknown };
/** The path to a value: keys of objects and indexes of lists. */
export type JsonPath = readonly (string | number)[];
export type Problem = { readonly problem: string };

export type Json = { readonly root: Node; readonly value: Settings };

/** Far more than settings need, and far less than the stack can take. */
const maxDepth = 64;
const maxLength = 1024 * 1024;

/** Parses an object of settings, or returns what is wrong and where. */
export function readJson(text: string): Json | Problem {
  if (text.length > maxLength) return { problem: 'it is too large' };
  const source = text.replace(/^\uFEFF/, ' ');
  if (source.trim() === '') return { problem: 'it is empty' };
  if (depthOf(source) > maxDepth) return { problem: 'it is nested too deeply' };
  const errors: ParseError[] = [];
  const root = parseTree(source, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) return { problem: `${describePlace(text, error.offset)} is not valid JSON` };
  return root?.type === 'object'
    ? { root, value: getNodeValue(root) }
    : { problem: 'it is not a JSON object' };
}

/** Names a key that an object has twice, which makes it ambiguous; null if there is none. */
export function findDuplicate(text: string, { root }: Json, path: JsonPath): string | null {
  const seen = new Set<unknown>();
  for (const property of findNode(root, path)?.children ?? []) {
    const name = property.children?.[0]?.value;
    if (seen.has(name))
      return `it has the key ${name} twice, the second time at ${describePlace(text, property.offset)}`;
    seen.add(name);
  }
  return null;
}

/** Returns the source text of a value, if there is one. */
export function sliceValue(text: string, { root }: Json, path: JsonPath): string | null {
  const node = findNode(root, path);
  return node && text.slice(node.offset, endOf(node));
}

/**
 * Adds an entry at the end of an object or a list, after any comments. In an empty container it goes on the same line:
 * containers made by orch start with a line break, which is how removal recognizes them.
 */
export function appendEntry(text: string, path: JsonPath, key: string | null, value: unknown): string {
  const container = findIn(text, path);
  if (!container) return text;
  const { lineEnd, step } = findLayout(text);
  const indent = lineEnd + step.repeat(path.length + 1);
  const entry = `${key === null ? '' : `${JSON.stringify(key)}: `}${writeJson(value, step, indent)}`;
  const last = container.children?.at(-1);
  if (!last) return splice(text, container.offset + 1, container.offset + 1, entry);
  const behind = readGap(text, endOf(last), endOf(container) - 1);
  if (behind.comments === 0) return splice(text, endOf(last), endOf(last), `,${indent}${entry}`);
  const added = splice(text, behind.end, behind.end, `${indent}${entry}${behind.comma === null ? '' : ','}`);
  return behind.comma === null ? splice(added, endOf(last), endOf(last), ',') : added;
}

/** Removes an entry, with the containers that were made for it; null if that leaves nothing. */
export function removeEntry(text: string, path: JsonPath): string | null {
  const container = findIn(text, path.slice(0, -1));
  const children = container?.children ?? [];
  const index = container ? findIndex(container, path.at(-1)) : -1;
  const [before, entry, after] = [children[index - 1], children[index], children[index + 1]];
  if (!container || !entry) return path.length === 0 ? null : text;
  const start = before ? endOf(before) : container.offset + 1;
  const ahead = readGap(text, start, entry.offset);
  const behind = readGap(text, endOf(entry), after?.offset ?? endOf(container) - 1);
  const hasComments = ahead.comments + behind.comments > 0;
  if (!before && !after && !hasComments && /[\r\n]/.test(text[start] ?? '') && isAlone(text, container, path))
    return removeEntry(text, path.slice(0, -1));
  if (!before && after && !hasComments) return splice(text, entry.offset, after.offset, '');
  // Without comments around it, the entry goes with the comma before it; otherwise one comma goes, and every comment
  // stays. Nothing may move up onto the line of a comment.
  const isOnLine = ahead.isLineComment && !/^[ \t]*,?[ \t]*[\r\n]/.test(text.slice(endOf(entry)));
  const clear = before ? endOf(before) : after ? entry.offset : start;
  const from = isOnLine ? entry.offset : ahead.comments > 0 ? ahead.end : clear;
  const isCommaGone = before !== undefined && ahead.comments === 0;
  const comma = isCommaGone ? null : (behind.comma ?? ahead.comma);
  const cuts = [{ from, to: endOf(entry) }, ...(comma === null ? [] : [{ from: comma, to: comma + 1 }])];
  return cuts.sort((a, b) => b.from - a.from).reduce((left, cut) => splice(left, cut.from, cut.to, ''), text);
}

/** Replaces a value by another source text. */
export function replaceValue(text: string, path: JsonPath, put: string): string {
  const node = findIn(text, path);
  return node ? splice(text, node.offset, endOf(node), put) : text;
}

/** Writes a value in the style of the text around it. */
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

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function findIn(text: string, path: JsonPath): Node | null {
  const json = readJson(text);
  return 'problem' in json ? null : findNode(json.root, path);
}

function findNode(root: Node, path: JsonPath): Node | null {
  let node: Node | undefined = root;
  for (const step of path) {
    const child: Node | undefined = node?.children?.[node ? findIndex(node, step) : -1];
    node = child?.type === 'property' ? child.children?.[1] : child;
  }
  return node ?? null;
}

/** The position of an entry; of a duplicate key, the last one, which is the one that counts. */
function findIndex({ children = [] }: Node, step: string | number | undefined): number {
  return typeof step === 'number'
    ? step
    : children.findLastIndex((child) => child.type === 'property' && child.children?.[0]?.value === step);
}

/** Is there nothing around the container that would be lost with it? */
function isAlone(text: string, { offset, length }: Node, path: JsonPath): boolean {
  return path.length > 1 || `${text.slice(0, offset)}${text.slice(offset + length)}`.trim() === '';
}

/** Reads what is between two entries: the number of comments, the comma, and how the last of them ends. */
function readGap(text: string, start: number, end: number) {
  let [comments, last, isLineComment] = [0, start, false];
  let comma: number | null = null;
  const isInside = (offset: number) => offset >= start && offset < end;
  visit(text.replace(/^\uFEFF/, ' '), {
    onComment: (offset, length) => {
      if (!isInside(offset)) return;
      comments += 1;
      last = offset + length;
      isLineComment = text[offset + 1] === '/';
    },
    onSeparator: (character, offset) => {
      if (!isInside(offset) || character !== ',') return;
      comma = offset;
      last = offset + 1;
      isLineComment = false;
    },
  });
  return { comments, comma: comma as number | null, end: last, isLineComment };
}

function depthOf(text: string): number {
  const scanner = createScanner(text, true);
  let [depth, deepest] = [0, 0];
  for (scanner.scan(); scanner.getTokenLength() > 0; scanner.scan()) {
    const first = text[scanner.getTokenOffset()];
    if (first === '{' || first === '[') depth += 1;
    if (first === '}' || first === ']') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function describePlace(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
