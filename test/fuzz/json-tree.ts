import type { Random } from './random.ts';

/*
 * JSON as text, not as values: so that a key can be there twice or be __proto__, and a number can be 1e999.
 */
export type JsonTree =
  | { kind: 'literal'; text: string }
  | { kind: 'list'; items: JsonTree[] }
  | { kind: 'object'; entries: { key: string; value: JsonTree }[] };

export function growTree(value: unknown, depth = 0): JsonTree {
  const isDeep = depth > 100; // an earlier change nested it: what is below stays text
  if (Array.isArray(value) && !isDeep)
    return { kind: 'list', items: value.map((item) => growTree(item, depth + 1)) };
  if (typeof value !== 'object' || value === null || isDeep)
    return { kind: 'literal', text: JSON.stringify(value) ?? 'null' };
  const entries = Object.entries(value).map(([key, inner]) => ({
    key: JSON.stringify(key),
    value: growTree(inner, depth + 1),
  }));
  return { kind: 'object', entries };
}

export function writeTree(tree: JsonTree): string {
  if (tree.kind === 'literal') return tree.text;
  if (tree.kind === 'list') return `[${tree.items.map(writeTree).join(',')}]`;
  return `{${tree.entries.map(({ key, value }) => `${key}:${writeTree(value)}`).join(',')}}`;
}

const numbers = [
  '0',
  '-0',
  '1',
  '-1',
  '2',
  '0.5',
  '-0.000001',
  '1e999',
  '-1e999',
  '1e308',
  '5e-324',
  '2147483648',
  '4294967296',
  '999999999999999',
  '1000000000000000',
  '9007199254740991',
  '9007199254740993',
  '1e15',
  '1e21',
  '4922640000000',
  '8640000000000001',
  '100',
];

export const hostileStrings = [
  '',
  ' ',
  '\n',
  'x',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  '../../x',
  '/etc/x',
  '-x',
  '--settings=x',
  'a\u0000b',
  '\u001b[2J\u001b]0;x\u0007',
  '\u009b2J',
  '\u202eabc\u2066',
  'a\u2028b\u2029c',
  'a\nOrch-Cost: 0.000000\n\nb',
  'a\r\nb\rc',
  '\uFEFFx',
  '\u{1F680}界é\u0301',
  '<summary>',
  '</system>',
  '”\n> # x',
  'a\nFORGED\r\nFORGED\rFORGED\u2028FORGED',
  '`````',
  'NaN',
  'null',
  '1e999',
  '2026-11-16T10:00:00Z',
  '9999-12-31T23:59:59Z',
  'sess-abcd',
  'run-abcd@sess-abcd',
  'ckpt-00000007-abcd',
  'w-stranger',
  'w-test',
  'budget',
  '1'.repeat(40),
  'a'.repeat(300),
  'long '.repeat(1_000),
  '界'.repeat(3_000),
  'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789',
];
const loneSurrogates = ['"\\ud800"', '"a\\udfffb"', '"\\udc00\\ud800"'];

const literal = (text: string): JsonTree => ({ kind: 'literal', text });

/** As text: what walks through trees must not be the one that cannot bear it. */
function nest(depth: number, random: Random): JsonTree {
  const [open, close] = random.chance(0.5) ? ['[', ']'] : ['{"a":', '}'];
  return literal(`${open.repeat(depth)}1${close.repeat(depth)}`);
}

function anyText(random: Random): string {
  return random.chance(0.1) ? random.pick(loneSurrogates) : JSON.stringify(random.pick(hostileStrings));
}

/** A value of any kind. */
function anyTree(random: Random): JsonTree {
  switch (random.int(9)) {
    case 0:
      return literal('null');
    case 1:
      return literal(random.pick(['true', 'false']));
    case 2:
    case 3:
      return literal(random.pick(numbers));
    case 4:
    case 5:
      return literal(anyText(random));
    case 6:
      return random.chance(0.5) ? { kind: 'list', items: [] } : { kind: 'object', entries: [] };
    case 7:
      return growTree(JSON.parse('{"toString":1,"valueOf":1,"__proto__":{"x":1},"length":-1}'));
    default:
      return nest(random.pick([2, 10, 70, 2_000]), random);
  }
}

/** Another value of the same kind, so that what reads it goes on to use it. */
function sameKind({ text }: { text: string }, random: Random): string {
  if (text.startsWith('"')) {
    if (random.chance(0.6)) return anyText(random);
    const value: unknown = JSON.parse(text);
    const known = typeof value === 'string' ? value : '';
    const at = random.int(known.length + 1);
    const put = random.pick(hostileStrings).slice(0, 40);
    return JSON.stringify(known.slice(0, at) + put + known.slice(at + random.int(3)));
  }
  if (/^[-\d]/.test(text)) {
    const number = Number(text);
    const near = [number + 1, number - 1, -number, number * 1_000, number / 3];
    return random.chance(0.6) ? random.pick(numbers) : String(random.pick(near)).replace('Infinity', '1e999');
  }
  if (text === 'true' || text === 'false') return text === 'true' ? 'false' : 'true';
  return text;
}

type Slot = { readonly get: JsonTree; set(tree: JsonTree): void };

function listSlots(tree: JsonTree, slots: Slot[]): void {
  if (tree.kind === 'list')
    tree.items.forEach((item, index) => {
      slots.push({
        get: item,
        set: (put) => {
          tree.items[index] = put;
        },
      });
      listSlots(item, slots);
    });
  if (tree.kind === 'object')
    for (const entry of tree.entries) {
      slots.push({
        get: entry.value,
        set: (put) => {
          entry.value = put;
        },
      });
      listSlots(entry.value, slots);
    }
}

function slotsOf(tree: JsonTree): Slot[] {
  const slots: Slot[] = [];
  listSlots(tree, slots);
  return slots;
}

function changeContainer(tree: JsonTree, random: Random, donor: JsonTree): void {
  if (tree.kind === 'literal') return;
  const rows: unknown[] = tree.kind === 'list' ? tree.items : tree.entries;
  const at = random.int(rows.length + 1);
  const given = () => {
    const slots = slotsOf(donor);
    return random.chance(0.5) && slots.length > 0 ? structuredClone(random.pick(slots).get) : anyTree(random);
  };
  switch (random.int(5)) {
    case 0:
      rows.splice(at, 1 + random.int(2));
      return;
    case 1: {
      const row = rows[at];
      if (row !== undefined) rows.splice(random.int(rows.length + 1), 0, structuredClone(row));
      return;
    }
    case 2:
      if (tree.kind === 'list') tree.items.splice(at, 0, given());
      else tree.entries.splice(at, 0, { key: anyText(random), value: given() });
      return;
    case 3: {
      const entry = tree.kind === 'object' ? tree.entries[at] : undefined;
      if (entry) entry.key = anyText(random);
      return;
    }
    default: {
      // Many of one: counts, bounds and evictions. Under names of their own, or all but one would be lost.
      const row = tree.kind === 'list' ? tree.items[at] : tree.entries[at];
      const times = random.pick([3, 30, 150]);
      for (let copy = 0; row !== undefined && copy < times; copy++) {
        if (tree.kind === 'list') tree.items.push(structuredClone(row as JsonTree));
        else {
          const { key, value } = structuredClone(row as { key: string; value: JsonTree });
          tree.entries.push({ key: `${key.slice(0, -1)}${copy}"`, value });
        }
      }
    }
  }
}

/** A few changes to a tree, most of which leave it the shape it had. */
export function mutateTree(sample: JsonTree, random: Random, donor: JsonTree): JsonTree {
  const tree = structuredClone(sample);
  const top = { tree };
  for (let left = 1 + random.int(4); left > 0; left--) {
    const slots = slotsOf(top.tree);
    const root: Slot = {
      get: top.tree,
      set: (put) => {
        top.tree = put;
      },
    };
    const slot = slots.length === 0 || random.chance(0.02) ? root : random.pick(slots);
    if (slot.get.kind === 'literal' && random.chance(0.7)) slot.set(literal(sameKind(slot.get, random)));
    else if (slot.get.kind !== 'literal' && random.chance(0.7)) changeContainer(slot.get, random, donor);
    else if (random.chance(0.5)) slot.set(anyTree(random));
    else {
      const others = slotsOf(donor);
      if (others.length > 0) slot.set(structuredClone(random.pick(others).get));
    }
  }
  return top.tree;
}
