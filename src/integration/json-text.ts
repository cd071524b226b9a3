/** A JSON value, and where it stands in its text. */
export type JsonNode = {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** What an object or a list holds, in order; null for any other value. */
  readonly children: readonly JsonChild[] | null;
};
/** An entry of an object or a list; it starts at its key, where it has one. */
export type JsonChild = { readonly key: string | null; readonly start: number; readonly node: JsonNode };

/** Far more than settings have, and far less than a stack can take. */
const maxDepth = 64;
const maxLength = 1024 * 1024;

/** Reads an object of settings with its places, or says what is wrong with it. */
export function readJson(text: string): JsonNode | { readonly problem: string } {
  const start = text.startsWith('\uFEFF') ? 1 : 0;
  if (text.length > maxLength) return { problem: 'it is too large' };
  if (text.slice(start).trim() === '') return { problem: 'it is empty' };
  try {
    JSON.parse(text.slice(start));
  } catch {
    const hasComments = /(?:^|[\s,{[])\/[/*]/.test(text);
    return { problem: hasComments ? 'it has comments, which would be lost' : 'it is no valid JSON' };
  }
  if (depthOf(text) > maxDepth) return { problem: 'it is nested too deeply' };
  const node = scanValue(text, skipSpace(text, start));
  return isRecord(node.value) ? node : { problem: 'it is no JSON object' };
}

export function isRecord(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The entry of this name; the last one, which is the one that counts. */
export function findMember(node: JsonNode, key: string): JsonNode | null {
  return node.children?.findLast((child) => child.key === key)?.node ?? null;
}

/** Is a name there twice, so that nobody can tell which is meant? */
export function findDuplicate(node: JsonNode): string | null {
  const names = (node.children ?? []).map(({ key }) => key);
  return names.find((name, index) => name !== null && names.indexOf(name) !== index) ?? null;
}

const string = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const space = /[ \t\r\n]*/y;
const other = /[^\s,\]}]+/y;

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.replace(new RegExp(string.source, 'g'), '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function skipSpace(text: string, at: number): number {
  return matchAt(space, text, at);
}

/** The text was parsed before: what is left is to see where things are. */
function scanValue(text: string, start: number): JsonNode {
  const first = text[start];
  if (first === '{' || first === '[') return scanContainer(text, start, first === '{');
  const end = matchAt(first === '"' ? string : other, text, start);
  return { start, end, value: JSON.parse(text.slice(start, end)), children: null };
}

function scanContainer(text: string, start: number, isObject: boolean): JsonNode {
  const children: JsonChild[] = [];
  let at = skipSpace(text, start + 1);
  while (text[at] !== '}' && text[at] !== ']') {
    const begin = at;
    let key: string | null = null;
    if (isObject) {
      const keyEnd = matchAt(string, text, at);
      key = String(JSON.parse(text.slice(at, keyEnd)));
      at = skipSpace(text, skipSpace(text, keyEnd) + 1);
    }
    const node = scanValue(text, at);
    children.push({ key, start: begin, node });
    at = skipSpace(text, node.end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return { start, end: at + 1, value: JSON.parse(text.slice(start, at + 1)), children };
}
