import { isDeepStrictEqual } from 'node:util';
import { isAlias, isCollection, isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { readYaml } from '../yaml.ts';

export type YamlValue = string | number | null;
export type YamlValues = { readonly [key: string]: YamlValue };

/** Texts to be put in place of what stands between two offsets. */
export type Edit = { readonly start: number; readonly end: number; readonly text: string };
type Edits = readonly Edit[] | { readonly problem: string };

/** What new lines have to look like in this file. */
type Layout = { readonly lineEnd: string; readonly step: string };

export type Section = YAMLMap<unknown, unknown>;

/**
 * Sets values in a section at the top of a YAML text, and leaves every other byte as it is;
 * or says why that cannot be done. Keys and the section itself are added where they are missing.
 */
export function setYamlValues(
  text: string,
  section: string,
  values: YamlValues,
): { readonly text: string } | { readonly problem: string } {
  const before = readYaml(text);
  if ('problem' in before) return { problem: `line ${before.problem.line}: ${before.problem.message}` };
  const top = before.value ?? {};
  if (!isRecord(top)) return { problem: 'it is no mapping of keys to values' };
  const edits = findEdits(text, section, values);
  if ('problem' in edits) return edits;
  const edited = applyEdits(text, edits);
  const after = readYaml(edited);
  const old = top[section];
  const expected = { ...top, [section]: { ...(isRecord(old) ? old : {}), ...values } };
  // Aliases, tags, document ends: whatever there is in YAML, nothing else may come to mean something new.
  if ('problem' in after || !isDeepStrictEqual(after.value, expected))
    return { problem: `${section} is written in a way that cannot be changed without changing the rest` };
  return { text: edited };
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let edited = text;
  for (const { start, end, text: put } of edits.toSorted((a, b) => b.start - a.start))
    edited = edited.slice(0, start) + put + edited.slice(end);
  return edited;
}

function findEdits(text: string, section: string, values: YamlValues): Edits {
  const { contents } = parseDocument(text, {
    prettyErrors: false,
    logLevel: 'error',
    keepSourceTokens: true,
  });
  const root = isMap(contents) ? contents : null;
  const layout = { lineEnd: lineEndOf(text), step: findStep(text, root) };
  const pair = root ? findPair(root, section) : null;
  if (!pair) return addSection(text, root, section, values, layout);
  if (isAlias(pair.value)) return { problem: `${section} is an alias of another part of the file` };
  if (isMap(pair.value) && pair.value.items.length + (pair.value.flow ? 1 : 0) > 0)
    return editSection(text, pair, pair.value, section, values, layout);
  if (isCollection(pair.value) || (isScalar(pair.value) && pair.value.value !== null))
    return { problem: `${section} is no mapping of keys to values` };
  return fillSection(text, pair, columnOf(text, startOf(pair.key)), values, layout);
}

export function findPair(map: Section, key: string): Pair<unknown, unknown> | null {
  return map.items.find((item) => isScalar(item.key) && item.key.value === key) ?? null;
}

/** Replaces what is there, and adds the rest: in front, where no comment and no open block can be in between. */
function editSection(
  text: string,
  pair: Pair<unknown, unknown>,
  map: Section,
  section: string,
  values: YamlValues,
  layout: Layout,
): Edits {
  const edits: Edit[] = [];
  const missing: [string, YamlValue][] = [];
  for (const [key, value] of Object.entries(values)) {
    const found = findPair(map, key);
    const edit = found ? editValue(found, value) : null;
    if (!found) missing.push([key, value]);
    else if (edit === 'unfit') return { problem: `${section}.${key} is no plain value` };
    else if (edit) edits.push(edit);
  }
  if (missing.length === 0) return edits;
  if (map.flow) return [...edits, addToFlow(text, startOf(map), missing.map(writePair).join(', '))];
  const indent = ' '.repeat(columnOf(text, startOf(map)));
  const at = endOfLine(text, colonOf(pair));
  const lines = missing.map((entry) => `${layout.lineEnd}${indent}${writePair(entry)}`);
  return [...edits, { start: at, end: at, text: lines.join('') }];
}

export function editValue(pair: Pair<unknown, unknown>, value: YamlValue): Edit | 'unfit' | null {
  const { key, value: node } = pair;
  if (isAlias(node)) return { ...placeOf(node), text: writeValue(value, null) };
  if (isCollection(node)) return 'unfit';
  if (!isScalar(node)) {
    // `{tier}`: a key without its colon.
    const end = isScalar(key) ? key.range?.[1] : null;
    return end == null ? 'unfit' : { start: end, end, text: `: ${writeValue(value, null)}` };
  }
  if (node.value === value) return null;
  if (node.type === 'BLOCK_FOLDED' || node.type === 'BLOCK_LITERAL' || node.tag !== undefined) return 'unfit';
  const place = placeOf(node);
  if (place.start < place.end) return { ...place, text: writeValue(value, node) };
  const at = colonOf(pair) + 1;
  return { start: at, end: at, text: ` ${writeValue(value, null)}` };
}

/** The section is there, with nothing in it. */
function fillSection(
  text: string,
  pair: Pair<unknown, unknown>,
  column: number,
  values: YamlValues,
  { lineEnd, step }: Layout,
): Edits {
  const lines = Object.entries(values).map(
    (entry) => `${lineEnd}${' '.repeat(column)}${step}${writePair(entry)}`,
  );
  const at = endOfLine(text, colonOf(pair));
  const { start, end } = placeOf(pair.value);
  const gone = start < end ? [{ start, end, text: '' }] : [];
  return [...gone, { start: at, end: at, text: lines.join('') }];
}

function addSection(
  text: string,
  root: Section | null,
  section: string,
  values: YamlValues,
  { lineEnd, step }: Layout,
): Edits {
  const pairs = Object.entries(values).map(writePair);
  if (root?.flow) return [addToFlow(text, startOf(root), `${section}: {${pairs.join(', ')}}`)];
  const indent = ' '.repeat(root ? columnOf(text, startOf(root)) : 0);
  const lines = [`${indent}${section}:`, ...pairs.map((pair) => `${indent}${step}${pair}`)];
  const block = lines.join(lineEnd);
  const isOpen = text !== '' && !/[\n\uFEFF]$/.test(text);
  const added = isOpen ? `${lineEnd}${block}` : `${block}${lineEnd}`;
  return [{ start: text.length, end: text.length, text: added }];
}

export function addToFlow(text: string, brace: number, pairs: string): Edit {
  const rest = text.slice(brace + 1);
  const comma = /^\s*(?:#[^\n]*\n\s*)*\}/.test(rest) ? '' : ',';
  const spaced = /^\s/.test(rest) ? ` ${pairs}${comma}` : `${pairs}${comma}${comma && ' '}`;
  return { start: brace + 1, end: brace + 1, text: spaced };
}

export function writePair([key, value]: readonly [string, YamlValue]): string {
  return `${key}: ${writeValue(value, null)}`;
}

/** A word no reader of any YAML version takes for something else, or a time where there was one before. */
const plain = /^(?!(?:y|n|yes|no|on|off|true|false|null|nan|inf)$)[a-z][\w-]*$|^\d{4}-\d\d-\d\dT[\d:.]+Z$/i;

/** In the quotes the old value has; a new one gets double quotes, for YAML 1.1 reads a bare time as a date. */
export function writeValue(value: YamlValue, old: { type?: string; value: unknown } | null): string {
  if (value === null || typeof value === 'number') return String(value);
  const isPlain = old?.type === 'PLAIN' && typeof old.value === 'string' && plain.test(value);
  if (isPlain) return value;
  const isPrintable = /^[\x20-\x7e]*$/.test(value);
  if (old?.type === 'QUOTE_SINGLE' && isPrintable) return `'${value.replaceAll("'", "''")}'`;
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The indentation this file uses, from its first nested block. */
function findStep(text: string, root: Section | null): string {
  if (!root || root.flow) return '  ';
  const nested = root.items.find(({ value }) => isMap(value) && !value.flow);
  const column = nested ? columnOf(text, startOf(nested.value)) - columnOf(text, startOf(root)) : 2;
  return ' '.repeat(column > 0 ? column : 2);
}

export function placeOf(node: unknown): { start: number; end: number } {
  const range = isScalar(node) || isCollection(node) || isAlias(node) ? node.range : null;
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0 };
}

export function startOf(node: unknown): number {
  return placeOf(node).start;
}

export function colonOf({ srcToken }: Pair<unknown, unknown>): number {
  return srcToken?.sep?.find(({ type }) => type === 'map-value-ind')?.offset ?? 0;
}

export function columnOf(text: string, offset: number): number {
  const before = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return before.replace(/^\uFEFF/, '').length;
}

export function endOfLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  if (end === -1) return text.length;
  return text[end - 1] === '\r' ? end - 1 : end;
}

export function lineEndOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n';
}
