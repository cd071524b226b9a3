import { isDeepStrictEqual } from 'node:util';
import {
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type YAMLMap,
  type Pair as YamlPair,
} from 'yaml';
import { isRecord } from '../../checks.ts';
import { readYaml } from './yaml-text.ts';

/* Changes values in a YAML file of the user's. Every other byte stays as it is. */

type YamlValue = string | number | null;

/** By key: a value to set, texts to add to a list, or changes to a mapping. Missing keys are added. */
type YamlChanges = { readonly [key: string]: YamlValue | readonly string[] | YamlChanges };
type Change = YamlChanges[string];

type Edited = { readonly text: string } | { readonly problem: string };

/** What to change in one row of a list. */
type RowEdit = { readonly index: number; readonly changes: YamlChanges };

/** Replaces the text between two offsets. */
type Edit = { readonly start: number; readonly end: number; readonly text: string };
type Edits = readonly Edit[] | { readonly problem: string };

type Mapping = YAMLMap<unknown, unknown>;
type Pair = YamlPair<unknown, unknown>;

/** The text, and the style of its lines. */
type Source = {
  readonly text: string;
  readonly root: Mapping | null;
  readonly lineEnd: string;
  readonly step: string;
};

/** Changes a top-level section of a YAML text, or returns why it can't. */
export function setYamlValues(text: string, section: string, changes: YamlChanges): Edited {
  return editYaml(
    text,
    section,
    (source) => {
      const pair = source.root && findPair(source.root, section);
      return pair ? editPair(source, pair, section, changes, false) : addSection(source, section, changes);
    },
    (top) => applyChange(top, { [section]: changes }),
  );
}

/** Changes rows of a top-level list of a YAML text, or returns why it can't. */
export function editYamlRows(text: string, list: string, edits: readonly RowEdit[]): Edited {
  return editYaml(
    text,
    list,
    (source) => {
      const rows = source.root && findPair(source.root, list)?.value;
      return collectEdits(edits, ({ index, changes }) => {
        const row = isSeq(rows) ? rows.items[index] : null;
        const name = `${list}[${index}]`;
        if (!isMap(row)) return refuseNonMapping(name);
        return editMapping(source, row, name, changes, findLineToFollow(source.text, row, changes));
      });
    },
    (top) => {
      const rows = top[list];
      const byIndex = new Map(edits.map(({ index, changes }) => [index, changes]));
      const change = (row: unknown, index: number) => applyChange(row, byIndex.get(index) ?? {});
      return { ...top, [list]: Array.isArray(rows) ? rows.map(change) : rows };
    },
  );
}

function editYaml(
  text: string,
  name: string,
  find: (source: Source) => Edits,
  expect: (top: { readonly [key: string]: unknown }) => unknown,
): Edited {
  const before = readYaml(text);
  if ('problem' in before) return { problem: `line ${before.problem.line}: ${before.problem.message}` };
  const top = before.value ?? {};
  if (!isRecord(top)) return refuseNonMapping('it');
  const edits = find(parseSource(text));
  if ('problem' in edits) return edits;
  const edited = applyEdits(text, edits);
  const after = readYaml(edited);
  // Anchors, tags, document ends: whatever YAML features the file uses, the rest must keep its meaning.
  if ('problem' in after || !isDeepStrictEqual(after.value, expect(top)))
    return { problem: `${name} is written in a way that cannot be changed without changing the rest` };
  return { text: edited };
}

/** What a value becomes, however it is written. */
function applyChange(old: unknown, change: Change): unknown {
  if (isTextList(change)) return [...(Array.isArray(old) ? old : []), ...change];
  if (!isRecord(change)) return change;
  const known = isRecord(old) ? old : {};
  const changed = Object.entries(change).map(([key, value]) => [key, applyChange(known[key], value)]);
  return changed.length === 0 ? old : { ...known, ...Object.fromEntries(changed) };
}

function parseSource(text: string): Source {
  const { contents } = parseDocument(text, {
    prettyErrors: false,
    logLevel: 'error',
    keepSourceTokens: true,
  });
  const root = isMap(contents) ? contents : null;
  return { text, root, lineEnd: /\r?\n/.exec(text)?.[0] ?? '\n', step: findStep(text, root) };
}

/** The file's indentation, from its first nested block. */
function findStep(text: string, root: Mapping | null): string {
  if (!root || root.flow) return '  ';
  const nested = root.items.find(({ value }) => isMap(value) && !value.flow);
  const column = nested
    ? columnOf(text, placeOf(nested.value).start) - columnOf(text, placeOf(root).start)
    : 2;
  return ' '.repeat(column > 0 ? column : 2);
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let edited = text;
  for (const { start, end, text: put } of edits.toSorted((a, b) => b.start - a.start))
    edited = edited.slice(0, start) + put + edited.slice(end);
  return edited;
}

function collectEdits<T>(all: readonly T[], find: (one: T) => Edits): Edits {
  const edits: Edit[] = [];
  for (const one of all) {
    const found = find(one);
    if ('problem' in found) return found;
    edits.push(...found);
  }
  return edits;
}

/** Changes existing keys, and adds the others after the line that ends at `at`. */
function editMapping(
  source: Source,
  map: Mapping,
  name: string,
  changes: YamlChanges,
  at: number | null,
): Edits {
  const entries = Object.entries(changes);
  const missing = entries.filter(([key]) => findPair(map, key) === null);
  const edits = collectEdits(entries, ([key, change]) => {
    const pair = findPair(map, key);
    return pair ? editPair(source, pair, `${name}.${key}`, change, map.flow === true) : [];
  });
  if ('problem' in edits || missing.length === 0) return edits;
  const { start } = placeOf(map);
  if (map.flow) return [addToFlow(source.text, start, missing.map(writeInFlow).join(', ')), ...edits];
  if (at === null) return { problem: `${name} has no line to add others after` };
  const newLine = `${source.lineEnd}${' '.repeat(columnOf(source.text, start))}`;
  const added = missing.map((entry) => `${newLine}${writeInBlock(entry, newLine, source.step)}`).join('');
  // First, so that a value inserted at the same offset comes before it.
  return [{ start: at, end: at, text: added }, ...edits];
}

/** The end of a one-line entry that new lines can follow: a key to change, or else the row's first key. */
function findLineToFollow(text: string, row: Mapping, changes: YamlChanges): number | null {
  const isOneLine = (pair: Pair | null | undefined) =>
    isScalar(pair?.key) &&
    (!pair.value ||
      (isScalar(pair.value) && !text.slice(placeOf(pair.key).end, placeOf(pair.value).end).includes('\n')));
  const known = Object.keys(changes).map((key) => findPair(row, key));
  const pair = [...known, row.items[0]].find(isOneLine);
  return pair ? endOfLine(text, Math.max(placeOf(pair.key).end, placeOf(pair.value).end)) : null;
}

function editPair(source: Source, pair: Pair, name: string, change: Change, isInFlow: boolean): Edits {
  const { text, lineEnd, step } = source;
  const node = pair.value;
  if (isTextList(change)) return editList(source, pair, name, change);
  if (!isRecord(change)) return editValue(pair, name, change);
  if (isAlias(node)) return { problem: `${name} is an alias of another part of the file` };
  const at = endOfLine(text, colonOf(pair));
  if (isMap(node)) return editMapping(source, node, name, change, at);
  if (!isEmpty(node)) return refuseNonMapping(name);
  if (isInFlow) return putValue(pair, writeFlow(change));
  const newLine = `${lineEnd}${' '.repeat(columnOf(text, placeOf(pair.key).start))}${step}`;
  const lines = Object.entries(change).map((entry) => `${newLine}${writeInBlock(entry, newLine, step)}`);
  return [
    { ...placeOf(node), text: '' },
    { start: at, end: at, text: lines.join('') },
  ];
}

function editValue(pair: Pair, name: string, value: YamlValue): Edits {
  const { value: node } = pair;
  if (isScalar(node) && node.value === value) return [];
  const isBlock = isScalar(node) && (node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL');
  if (isCollection(node) || isBlock || (isScalar(node) && node.tag !== undefined))
    return { problem: `${name} is not a plain value` };
  return putValue(pair, writeValue(value, isScalar(node) ? node : null));
}

function editList({ text, lineEnd }: Source, pair: Pair, name: string, texts: readonly string[]): Edits {
  const list = pair.value;
  if (isEmpty(list)) return putValue(pair, writeFlow(texts));
  const last = isSeq(list) ? list.items.at(-1) : null;
  if (isSeq(list) && list.flow) {
    const at = last === undefined ? placeOf(list).start + 1 : placeOf(last).end;
    return [{ start: at, end: at, text: `${last === undefined ? '' : ', '}${texts.map(quote).join(', ')}` }];
  }
  if (!isScalar(last)) return { problem: `${name} is not a list of plain values` };
  const dash = `${lineEnd}${' '.repeat(columnOf(text, placeOf(list).start))}- `;
  const at = endOfLine(text, placeOf(last).end);
  return [{ start: at, end: at, text: texts.map((each) => `${dash}${quote(each)}`).join('') }];
}

/** Replaces a value, which may be empty. */
function putValue(pair: Pair, put: string): Edits {
  const place = placeOf(pair.value);
  if (place.start < place.end) return [{ ...place, text: put }];
  // `{tier}` is a key without its colon.
  const { end } = placeOf(pair.key);
  const colon = colonOf(pair);
  return colon === 0
    ? [{ start: end, end, text: `: ${put}` }]
    : [{ start: colon + 1, end: colon + 1, text: ` ${put}` }];
}

function addSection({ text, root, lineEnd, step }: Source, section: string, changes: YamlChanges): Edits {
  if (root?.flow) return [addToFlow(text, placeOf(root).start, writeInFlow([section, changes]))];
  const indent = ' '.repeat(root ? columnOf(text, placeOf(root).start) : 0);
  const block = `${indent}${writeInBlock([section, changes], `${lineEnd}${indent}`, step)}`;
  const isOpen = text !== '' && !/[\n\uFEFF]$/.test(text);
  const added = isOpen ? `${lineEnd}${block}` : `${block}${lineEnd}`;
  return [{ start: text.length, end: text.length, text: added }];
}

function addToFlow(text: string, brace: number, pairs: string): Edit {
  const rest = text.slice(brace + 1);
  const comma = /^\s*(?:#[^\n]*\n\s*)*\}/.test(rest) ? '' : ',';
  const spaced = /^\s/.test(rest) ? ` ${pairs}${comma}` : `${pairs}${comma}${comma && ' '}`;
  return { start: brace + 1, end: brace + 1, text: spaced };
}

type Entry = readonly [key: string, change: Change];

/** `newLine` starts a line at the key's depth. */
function writeInBlock([key, change]: Entry, newLine: string, step: string): string {
  if (isTextList(change) || !isRecord(change)) return writeInFlow([key, change]);
  const deeper = `${newLine}${step}`;
  return [`${key}:`, ...Object.entries(change).map((entry) => writeInBlock(entry, deeper, step))].join(
    deeper,
  );
}

function writeInFlow([key, change]: Entry): string {
  return `${key}: ${writeFlow(change)}`;
}

function writeFlow(change: Change): string {
  if (isTextList(change)) return `[${change.map(quote).join(', ')}]`;
  return isRecord(change)
    ? `{${Object.entries(change).map(writeInFlow).join(', ')}}`
    : writeValue(change, null);
}

/** A word that every YAML version reads as text, or a time in place of a time. */
const plain = /^(?!(?:y|n|yes|no|on|off|true|false|null|nan|inf)$)[a-z][\w-]*$|^\d{4}-\d\d-\d\dT[\d:.]+Z$/i;

/** Keeps the old value's quotes; a new one gets double quotes, because YAML 1.1 reads a bare time as a date. */
function writeValue(value: YamlValue, old: { type?: string; value: unknown } | null): string {
  if (value === null || typeof value === 'number') return String(value);
  const isPlain = old?.type === 'PLAIN' && typeof old.value === 'string' && plain.test(value);
  if (isPlain) return value;
  const isPrintable = /^[\x20-\x7e]*$/.test(value);
  if (old?.type === 'QUOTE_SINGLE' && isPrintable) return `'${value.replaceAll("'", "''")}'`;
  return quote(value);
}

function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function isTextList(change: Change): change is readonly string[] {
  return Array.isArray(change);
}

/** `key:` without a value, or null. */
function isEmpty(node: unknown): boolean {
  return !isCollection(node) && !isAlias(node) && !(isScalar(node) && node.value !== null);
}

function refuseNonMapping(name: string): { readonly problem: string } {
  return { problem: `${name} is not a mapping of keys to values` };
}

function findPair(map: Mapping, key: string): Pair | null {
  return map.items.find((item) => isScalar(item.key) && item.key.value === key) ?? null;
}

function placeOf(node: unknown): { start: number; end: number } {
  const range = isScalar(node) || isCollection(node) || isAlias(node) ? node.range : null;
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0 };
}

/** 0 if there is none. */
function colonOf({ srcToken }: Pair): number {
  return srcToken?.sep?.find(({ type }) => type === 'map-value-ind')?.offset ?? 0;
}

function columnOf(text: string, offset: number): number {
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return before.replace(/^\uFEFF/, '').length;
}

function endOfLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' ? end - 1 : end;
}
