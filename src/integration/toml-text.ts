/** A key at the top of a TOML text, before any table, and where its value stands. */
export type TomlEntry = {
  /** As it is named; null for a dotted one. */
  readonly key: string | null;
  /** Where its line begins. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
};

/** Far more than settings have. */
const maxDepth = 64;
const maxLength = 1024 * 1024;

const blank = /[ \t]*/y;
const space = /(?:[ \t\r\n]|#[^\n]*)*/y;
const lineRest = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
const header =
  /\[{1,2}[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'))*[ \t]*\]{1,2}/y;
const key =
  /(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'))*/y;
const multiline = /"""[^\\]*?(?:\\[\s\S][^\\]*?)*?"{3,5}(?!")|'''[\s\S]*?'{3,5}(?!')/y;
const single = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;
const bare = /[\w+.:-]+(?: \d\d:[\w.:+-]+)?/y;

/** Finds the keys at the top of a TOML text; goes through all of it, to tell where it is broken. */
export function readToml(text: string): readonly TomlEntry[] | { readonly problem: string } {
  if (text.length > maxLength) return { problem: 'it is too large' };
  if (/\r(?!\n)/.test(text)) return { problem: 'it has carriage returns that end no line' };
  const entries: TomlEntry[] = [];
  const brokenAt = (offset: number) => ({
    problem: `line ${text.slice(0, offset).split('\n').length} is no valid TOML`,
  });
  let isTop = true;
  let at = matchAt(space, text, text.startsWith('\uFEFF') ? 1 : 0) ?? 0;
  while (at < text.length) {
    const start = at;
    let end: number | null;
    if (text[at] === '[') {
      isTop = false;
      end = matchAt(header, text, at);
    } else {
      const keyEnd = matchAt(key, text, at);
      const equals = keyEnd === null ? null : (matchAt(blank, text, keyEnd) ?? keyEnd);
      if (keyEnd === null || equals === null || text[equals] !== '=') return brokenAt(start);
      const valueStart = matchAt(blank, text, equals + 1) ?? equals + 1;
      end = findValueEnd(text, valueStart, 0);
      const name = readKey(text.slice(start, keyEnd));
      if (isTop && end !== null) entries.push({ key: name, start, valueStart, valueEnd: end });
    }
    const next = end === null ? null : matchAt(lineRest, text, end);
    if (next === null) return brokenAt(start);
    at = matchAt(space, text, next) ?? next;
  }
  return entries;
}

/** The texts of a list of them; null for any other value. */
export function readStrings(value: string): string[] | null {
  const inside = /^\[([\s\S]*)\]$/.exec(value)?.[1];
  if (inside === undefined) return null;
  const texts: string[] = [];
  let at = matchAt(space, inside, 0) ?? 0;
  while (at < inside.length) {
    const end = matchAt(single, inside, at);
    const text = end === null ? null : readString(inside.slice(at, end));
    if (end === null || text === null) return null;
    texts.push(text);
    at = matchAt(space, inside, end) ?? end;
    if (at < inside.length && inside[at] !== ',') return null;
    at = matchAt(space, inside, at + 1) ?? at + 1;
  }
  return texts;
}

function matchAt(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function readKey(source: string): string | null {
  if (/^[\w-]+$/.test(source)) return source;
  return /^(?:"(?:[^"\\]|\\.)*"|'[^']*')$/.test(source) ? readString(source) : null;
}

function readString(source: string): string | null {
  if (source.startsWith("'")) return source.slice(1, -1);
  // What TOML escapes and JSON does not.
  const json = source
    .replace(/\t/g, '\\t')
    .replace(/\\(?:U([0-9a-fA-F]{8})|e|.)/g, (found, code: string | undefined) => {
      if (found === '\\e') return '\\u001b';
      if (code === undefined) return found;
      const point = Number.parseInt(code, 16);
      return point > 0x10ffff ? found : JSON.stringify(String.fromCodePoint(point)).slice(1, -1);
    });
  try {
    return String(JSON.parse(json));
  } catch {
    return null; // an escape that does not exist: the caller refuses it
  }
}

function findValueEnd(text: string, at: number, depth: number): number | null {
  if (depth > maxDepth) return null;
  const first = text[at];
  if (first === '[') return findListEnd(text, at, depth, ']');
  if (first === '{') return findListEnd(text, at, depth, '}');
  if (text.startsWith('"""', at) || text.startsWith("'''", at)) return matchAt(multiline, text, at);
  return matchAt(first === '"' || first === "'" ? single : bare, text, at);
}

function findListEnd(text: string, start: number, depth: number, close: string): number | null {
  let at = matchAt(space, text, start + 1) ?? start + 1;
  while (text[at] !== close) {
    if (close === '}') {
      const keyEnd = matchAt(key, text, at);
      const equals = keyEnd === null ? null : matchAt(blank, text, keyEnd);
      if (equals === null || text[equals] !== '=') return null;
      at = matchAt(blank, text, equals + 1) ?? equals + 1;
    }
    const end = findValueEnd(text, at, depth + 1);
    if (end === null) return null;
    at = matchAt(space, text, end) ?? end;
    if (text[at] === ',') at = matchAt(space, text, at + 1) ?? at + 1;
    else if (text[at] !== close) return null;
  }
  return at + 1;
}
