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

/** Where something stands in a text; both count from 1. */
export type Place = { readonly line: number; readonly column: number };
export type YamlProblem = Place & { readonly message: string };

/** What a YAML text says, and where it says so. */
export type YamlText = {
  /** Plain values; null for a text of nothing but comments. */
  readonly value: unknown;
  /** Where a value stands, or its key; where it is missing, what should hold it. */
  placeOf(path: readonly PropertyKey[], what: 'key' | 'value'): Place;
};

/** Far more than anybody writes by hand. */
const maxDepth = 64;
const maxAliases = 100;

/** Reads YAML that others wrote: one document of plain values, or the problem with it. */
export function readYaml(text: string): YamlText | { readonly problem: YamlProblem } {
  const placeAt = makePlaces(text);
  const { tokens, tooDeepAt } = readTokens(text);
  if (tooDeepAt !== null) return { problem: { message: 'nested too deeply', ...placeAt(tooDeepAt) } };
  // At another log level yaml would print warnings past us. Tags such as !!binary and !!set stand for no plain value.
  const composer = new Composer({ prettyErrors: false, logLevel: 'error', resolveKnownTags: false });
  const [document = new Document(null), another] = composer.compose(tokens, true, text.length);
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong) return { problem: { message: wordProblem(wrong, text), ...placeAt(wrong.pos[0]) } };
  if (another) {
    const message = 'a second document begins here; there can be only one';
    return { problem: { message, ...placeAt(another.range[0]) } };
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: maxAliases });
    return { value, placeOf: (path, what) => placeAt(findOffset(document, path, what)) };
  } catch (error) {
    // An alias without its anchor, or so many that they would fill the memory; yaml does not say where.
    const message = error instanceof Error ? error.message : String(error);
    const alias = /(?:^|[\s[{,])\*/.exec(text);
    return { problem: { message, ...placeAt(alias ? alias.index + alias[0].length - 1 : 0) } };
  }
}

type Tokens = { readonly tokens: readonly CST.Token[]; readonly tooDeepAt: number | null };

/**
 * What a text is made of, or where its nesting goes past all reason. That must be found before yaml composes the
 * document: it does so by recursion, and where the stack ends there, node may end as well.
 */
function readTokens(text: string): Tokens {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    const read = [...parser.next(lexeme)];
    tokens.push(...read);
    if (parser.stack.length > maxDepth) return { tokens, tooDeepAt: parser.offset };
    // One mistake is told; a file of nothing else would take seconds to hear all of them.
    if (read.some(({ type }) => type === 'error')) break;
  }
  tokens.push(...parser.end());
  return { tokens, tooDeepAt: null };
}

/** Finds places in a text; its lines are counted once, however many places are asked for. */
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

function wordProblem(wrong: { code: string; message: string; pos: [number, number] }, text: string): string {
  if (wrong.code !== 'DUPLICATE_KEY') return wrong.message;
  const [key = ''] = /^[^\s:]+/.exec(text.slice(wrong.pos[0])) ?? [];
  return `the key ${key} is there twice`;
}

/** Walks down to a node, through aliases, as far as there is one. */
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
