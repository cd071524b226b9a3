import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, isSeq, type Pair, parseDocument, type YAMLSeq } from 'yaml';
import { readYaml } from '../yaml.ts';
import {
  addToFlow,
  applyEdits,
  columnOf,
  type Edit,
  editValue,
  endOfLine,
  findPair,
  isRecord,
  lineEndOf,
  placeOf,
  type Section,
  startOf,
  writePair,
  writeValue,
  type YamlValues,
} from './yaml-edit.ts';

type Texts = { readonly [key: string]: readonly string[] };

/** What is to be set in a row of a list, and what is to be added to lists one level below it: something to each. */
export type RowEdit = {
  readonly index: number;
  readonly values: YamlValues;
  readonly added: { readonly [section: string]: Texts };
};

/**
 * Changes rows of a list at the top of a YAML text, and leaves every other byte as it is; or says why that cannot be
 * done.
 */
export function editYamlRows(
  text: string,
  list: string,
  edits: readonly RowEdit[],
): { readonly text: string } | { readonly problem: string } {
  const before = readYaml(text);
  if ('problem' in before) return { problem: `line ${before.problem.line}: ${before.problem.message}` };
  const { contents } = parseDocument(text, {
    prettyErrors: false,
    logLevel: 'error',
    keepSourceTokens: true,
  });
  const rows = isMap(contents) ? findPair(contents, list)?.value : null;
  const found = isSeq(rows) ? edits.map((edit) => findRowEdits(text, rows, edit)) : [null];
  const edited = applyEdits(
    text,
    found.flatMap((each) => each ?? []),
  );
  const after = readYaml(edited);
  // Anchors, tags, whatever there is in YAML: nothing else may come to mean something new.
  const isRight =
    !found.includes(null) &&
    !('problem' in after) &&
    isDeepStrictEqual(after.value, expect(before.value, list, edits));
  return isRight
    ? { text: edited }
    : { problem: `${list} is written in a way that cannot be changed without changing the rest` };
}

/** What the text should come to mean. */
function expect(value: unknown, list: string, edits: readonly RowEdit[]): unknown {
  if (!isRecord(value) || !Array.isArray(value[list])) return null;
  const rows: unknown[] = value[list].map((row: unknown, index) => {
    const edit = edits.find((each) => each.index === index);
    if (edit === undefined || !isRecord(row)) return row;
    const sections = Object.entries(edit.added).map(([section, texts]) => {
      const old = row[section];
      const known = isRecord(old) ? old : {};
      const lists = Object.entries(texts).map(([key, more]) => {
        const had = known[key];
        return [key, [...(Array.isArray(had) ? had : []), ...more]];
      });
      return [section, { ...known, ...Object.fromEntries(lists) }];
    });
    return { ...row, ...edit.values, ...Object.fromEntries(sections) };
  });
  return { ...value, [list]: rows };
}

/** Null where it cannot be done in place. */
function findRowEdits(text: string, rows: YAMLSeq, { index, values, added }: RowEdit): Edit[] | null {
  const row = rows.items[index];
  if (!isMap(row)) return null;
  const edits: Edit[] = [];
  const missing: string[] = [];
  const lineEnd = lineEndOf(text);
  const indent = ' '.repeat(columnOf(text, startOf(row)));
  for (const [key, value] of Object.entries(values)) {
    const pair = findPair(row, key);
    const edit = pair ? editValue(pair, value) : null;
    if (edit === 'unfit') return null;
    if (edit) edits.push(edit);
    if (!pair) missing.push(writePair([key, value]));
  }
  for (const [section, texts] of Object.entries(added)) {
    const pair = findPair(row, section);
    if (!pair) missing.push(writeSection(section, texts, row.flow ? null : `${lineEnd}${indent}`));
    else {
      const more = isMap(pair.value) ? findListEdits(text, pair.value, texts) : fillSection(pair, texts);
      if (more === null) return null;
      edits.push(...more);
    }
  }
  if (missing.length === 0) return edits;
  if (row.flow) return [addToFlow(text, startOf(row), missing.join(', ')), ...edits];
  const at = findLineToFollow(text, row);
  if (at === null) return null;
  // First, so that a value which is put at the same place stands before it.
  return [
    { start: at, end: at, text: missing.map((line) => `${lineEnd}${indent}${line}`).join('') },
    ...edits,
  ];
}

/** The end of a line that new ones can follow: that of the status, or else of the row's first key. */
function findLineToFollow(text: string, row: Section): number | null {
  const isOneLine = (pair: Pair<unknown, unknown> | null | undefined) =>
    isScalar(pair?.key) &&
    (!pair.value ||
      (isScalar(pair.value) && !text.slice(placeOf(pair.key).end, placeOf(pair.value).end).includes('\n')));
  const pair = [findPair(row, 'status'), row.items[0]].find(isOneLine);
  return pair ? endOfLine(text, Math.max(placeOf(pair.key).end, placeOf(pair.value).end)) : null;
}

function writeList(texts: readonly string[]): string {
  return `[${texts.map((text) => writeValue(text, null)).join(', ')}]`;
}

/** `newLine` begins a line at the row's own depth; null writes it all on one. */
function writeSection(section: string, texts: Texts, newLine: string | null): string {
  const lists = Object.entries(texts).map(([key, list]) => `${key}: ${writeList(list)}`);
  if (newLine === null) return `${section}: {${lists.join(', ')}}`;
  return [`${section}:`, ...lists.map((list) => `${newLine}  ${list}`)].join('');
}

/** `evidence:` with nothing in it. */
function fillSection(pair: Pair<unknown, unknown>, texts: Texts): Edit[] | null {
  if (!isScalar(pair.value) || pair.value.value !== null || !isScalar(pair.key)) return null;
  const place = placeOf(pair.value);
  const lists = Object.entries(texts).map(([key, list]) => `${key}: ${writeList(list)}`);
  const put = `{${lists.join(', ')}}`;
  if (place.start < place.end) return [{ ...place, text: put }];
  const at = placeOf(pair.key).end + 1;
  return [{ start: at, end: at, text: ` ${put}` }];
}

function findListEdits(text: string, section: Section, texts: Texts): Edit[] | null {
  const edits: Edit[] = [];
  const missing: string[] = [];
  for (const [key, more] of Object.entries(texts)) {
    const pair = findPair(section, key);
    const edit = pair && findListEdit(text, pair, more);
    if (!pair) missing.push(`${key}: ${writeList(more)}`);
    else if (edit === null) return null;
    else edits.push(edit);
  }
  if (missing.length === 0) return edits;
  const start = startOf(section);
  if (section.flow) return [addToFlow(text, start, missing.join(', ')), ...edits];
  const newLine = `${lineEndOf(text)}${' '.repeat(columnOf(text, start))}`;
  return [{ start, end: start, text: missing.map((line) => `${line}${newLine}`).join('') }, ...edits];
}

function findListEdit(text: string, pair: Pair<unknown, unknown>, more: readonly string[]): Edit | null {
  const list = pair.value;
  const put = more.map((each) => writeValue(each, null));
  if (!isSeq(list)) {
    const filled = fillSection(pair, {});
    return filled?.[0] ? { ...filled[0], text: filled[0].text.replace('{}', writeList(more)) } : null;
  }
  const last = list.items.at(-1);
  if (list.flow) {
    const at = last === undefined ? startOf(list) + 1 : placeOf(last).end;
    return { start: at, end: at, text: `${last === undefined ? '' : ', '}${put.join(', ')}` };
  }
  if (!isScalar(last)) return null;
  const dash = `${lineEndOf(text)}${' '.repeat(columnOf(text, startOf(list)))}- `;
  const at = endOfLine(text, placeOf(last).end);
  return { start: at, end: at, text: put.map((each) => `${dash}${each}`).join('') };
}
