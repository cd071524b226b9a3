import {
  Composer,
  type CST,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
} from 'yaml';

/** A place in a text; both count from 1. */
export type Place = { readonly line: number; readonly column: number };
export type YamlProblem = Place & { readonly message: string };

/** The value of a YAML text, and the places of its parts. */
export type YamlText = {
  /** Plain values; null for an empty text. */
  readonly value: unknown;
  /** The place of a value or its key; if it is missing, of what should contain it. */
  placeOf(path: readonly PropertyKey[], what: 'key' | 'value'): Place;
};

/** Far more than anyone writes by hand. */
const maxDepth = 64;
const maxAliases = 100;

/** Parses untrusted YAML: one document of plain values, or the problem with it. */
export function readYaml(text: string): YamlText | { readonly problem: YamlProblem } {
  const placeAt = makePlaces(text);
  const { tokens, tooDeepAt } = readTokens(text);
  if (tooDeepAt !== null) return { problem: { message: 'nested too deeply', ...placeAt(tooDeepAt) } };
  // At other log levels yaml prints warnings itself. Tags such as !!binary and !!set don't give plain values.
  const composer = new Composer({ prettyErrors: false, logLevel: 'error', resolveKnownTags: false });
  const [document = new Document(null), another] = composer.compose(tokens, true, text.length);
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong) return { problem: { message: describeProblem(wrong, text), ...placeAt(wrong.pos[0]) } };
  if (another) {
    const message = 'a second document starts here; only one is allowed';
    return { problem: { message, ...placeAt(another.range[0]) } };
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: maxAliases });
    return { value, placeOf: (path, what) => placeAt(findOffset(document, path, what)) };
  } catch (error) {
    // An alias without its anchor, or so many that they would fill the memory. yaml does not say where.
    const message = error instanceof Error ? error.message : String(error);
    const alias = /(?:^|[\s[{,])\*/.exec(text);
    return { problem: { message, ...placeAt(alias ? alias.index + alias[0].length - 1 : 0) } };
  }
}

type Tokens = { readonly tokens: readonly CST.Token[]; readonly tooDeepAt: number | null };

/**
 * Splits a text into tokens, or finds where it is nested too deeply. That must happen before yaml composes the
 * document by recursion: a stack overflow there may end node itself.
 */
function readTokens(text: string): Tokens {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    const read = [...parser.next(lexeme)];
    tokens.push(...read);
    if (parser.stack.length > maxDepth) return { tokens, tooDeepAt: parser.offset };
    // The first error is enough: finding all of them can take seconds in a file full of errors.
    if (read.some(({ type }) => type === 'error')) break;
  }
  tokens.push(...parser.end());
  return { tokens, tooDeepAt: null };
}

/** Counts the lines once, and only if a place is asked for. */
function makePlaces(text: string): (offset: number) => Place {
  const first = text.startsWith('\uFEFF') ? 1 : 0;
  let lines: LineCounter | null = null;
  const countLines = () => {
    const counted = new LineCounter();
    counted.addNewLine(first);
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) counted.addNewLine(at + 1);
    return counted;
  };
  return (offset) => {
    lines ??= countLines();
    const { line, col } = lines.linePos(Math.max(offset, first));
    return { line, column: col };
  };
}

function describeProblem(
  wrong: { code: string; message: string; pos: [number, number] },
  text: string,
): string {
  if (wrong.code !== 'DUPLICATE_KEY') return wrong.message;
  const [key = ''] = /^[^\s:]+/.exec(text.slice(wrong.pos[0])) ?? [];
  return `the key ${key} appears twice`;
}

/** Follows a path, through aliases, as far as it exists. */
function findOffset(document: Document, path: readonly PropertyKey[], what: 'key' | 'value'): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [index, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    let key: unknown = null;
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      key = pair?.key;
      node = pair?.value;
    } else node = isSeq(node) ? node.items[Number(step)] : null;
    const isLast = index === path.length - 1;
    const found = isLast && what === 'key' ? startOf(key) : (startOf(node) ?? startOf(key));
    if (found === null) return offset;
    offset = found;
  }
  return offset;
}

function startOf(node: unknown): number | null {
  const isNode = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node);
  return isNode ? (node.range?.[0] ?? null) : null;
}
