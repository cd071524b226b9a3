import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { isRecord } from '../checks.ts';
import { readIfThere, readTextIfThere, realPath, statIfThere } from '../system/disk.ts';
import { cleanLine } from '../text.ts';
import { count } from '../units.ts';
import type { Imported, Lost, Source } from './imported-issue.ts';
import { readBeads } from './read-beads.ts';
import {
  decodeExport,
  type ExportRecord,
  type ExportRecords,
  importInvalid,
  readRecords,
  readTextField,
} from './read-export.ts';
import { readGithub } from './read-github.ts';

/* Finds and reads the files of an import. Databases are never opened: only their owner knows how to read them. */

export type ImportInput =
  /** `shown` is the path in messages. */
  | { readonly kind: 'path'; readonly path: string; readonly shown: string }
  | { readonly kind: 'bytes'; readonly bytes: Buffer };

const exportCommand = 'bd export --all > issues.jsonl';

/** Reads everything that an import takes in. */
export function readSource(source: Source, input: ImportInput): Imported {
  if (source === 'github') {
    const { text, shown } = readOneFile(input, 'github');
    return { source, files: [shown], ...readGithub(readRecords(text, shown)) };
  }
  const found =
    input.kind === 'path' && statIfThere(input.path)?.isDirectory() ? readFolder(source, input) : null;
  const { files, records, lost, notes } = found ?? readBeadsFile(input);
  const read = readBeads(records);
  return { source, files, ...read, lost: [...lost, ...read.lost], notes: [...notes, ...read.notes] };
}

type FoundRecords = {
  readonly files: readonly string[];
  readonly records: ExportRecords;
  readonly lost: readonly Lost[];
  readonly notes: readonly string[];
};

function readOneFile(input: ImportInput, source: Source): { readonly text: string; readonly shown: string } {
  if (input.kind === 'bytes') return { text: decodeExport(input.bytes, 'the input'), shown: 'the input' };
  const { path, shown } = input;
  const stats = statIfThere(path);
  if (stats === null) throw importInvalid(`there is no file ${shown}`, howToGet(source), { file: shown });
  if (stats.isDirectory()) throw importInvalid(`${shown} is a folder`, howToGet(source), { file: shown });
  return { text: decodeExport(readIfThere(path) ?? Buffer.alloc(0), shown), shown };
}

function howToGet(source: Source): string {
  if (source === 'github')
    return 'Export the issues first: gh issue list --state all --limit 1000 --json number,title,body,labels,state,milestone,url,comments > issues.json';
  return `Export the issues first: ${exportCommand}`;
}

function readBeadsFile(input: ImportInput): FoundRecords {
  const { text, shown } = readOneFile(input, 'beads');
  const records = readRecords(text, shown);
  const joined = input.kind === 'path' ? joinBackup(input.path, shown, records) : null;
  return {
    files: [shown, ...(joined?.files ?? [])],
    records: joined?.records ?? records,
    lost: findUncounted(joined?.records ?? records, shown),
    notes: [],
  };
}

/** Some commands of Beads count the dependencies of issues, and leave the dependencies themselves out. */
function findUncounted({ records }: ExportRecords, shown: string): Lost[] {
  const listed = ({ dependencies }: ExportRecord['value']) =>
    Array.isArray(dependencies) ? dependencies.length : 0;
  const short = records.filter(({ value }) => {
    const { status, dependency_count: counted } = value;
    return status !== 'closed' && typeof counted === 'number' && counted > 0 && listed(value) === 0;
  });
  if (short.length === 0) return [];
  return [
    {
      kind: 'export',
      id: shown,
      what: `dependencies of ${count(short.length, 'issue')}`,
      why: `${shown} counts them and leaves them out; export again with: ${exportCommand}`,
    },
  ];
}

/** The files that Beads writes beside `issues.jsonl` in a backup, without which every dependency would be missing. */
const backupLists = [
  ['dependencies.jsonl', 'dependencies'],
  ['comments.jsonl', 'comments'],
  ['labels.jsonl', 'labels'],
] as const;

/** Puts dependencies, comments and labels back into the issues of a backup; null if the file is in none. */
function joinBackup(path: string, shown: string, { records, bad }: ExportRecords) {
  const folder = dirname(path);
  const has = (name: string) => statIfThere(join(folder, name))?.isFile() === true;
  if (basename(path) !== 'issues.jsonl' || !has('dependencies.jsonl')) return null;
  const files: string[] = [];
  const allBad = [...bad];
  const lists = new Map<string, Map<string, unknown[]>>();
  for (const [name, field] of backupLists) {
    const bytes = has(name) ? readIfThere(join(folder, name)) : null;
    if (bytes === null || bytes.length === 0) continue;
    const file = join(dirname(shown), name);
    files.push(file);
    const read = readRecords(decodeExport(bytes, file), file);
    allBad.push(...read.bad);
    const byIssue = new Map<string, unknown[]>();
    for (const { value } of read.records) {
      const id = readTextField(value.issue_id);
      const known = byIssue.get(id);
      const item = field === 'labels' ? value.label : value;
      if (known === undefined) byIssue.set(id, [item]);
      else known.push(item);
    }
    lists.set(field, byIssue);
  }
  const joined = records.map(({ value, place }): ExportRecord => {
    const id = readTextField(value.id);
    const added = [...lists].flatMap(([field, byIssue]) => {
      const items = byIssue.get(id);
      return items === undefined || value[field] !== undefined ? [] : [[field, items] as const];
    });
    return { value: { ...value, ...Object.fromEntries(added) }, place };
  });
  return { files, records: { records: joined, bad: allBad } };
}

type Database = {
  /** Relative to the folder; empty for the folder itself. */
  readonly folder: string;
  readonly prefix: string;
};

/** Reads a project, town or city: its own export, and those of the databases that its routes name. */
function readFolder(source: Source, { path, shown }: Extract<ImportInput, { kind: 'path' }>): FoundRecords {
  const routed = source === 'beads' ? [] : readRoutes(path);
  const databases = [{ folder: '', prefix: '' }, ...routed.filter(({ folder }) => folder !== '')];
  const files: string[] = [];
  const records: ExportRecord[] = [];
  const bad: ExportRecords['bad'][number][] = [];
  const lost: Lost[] = [];
  const notes: string[] = [];
  const seen = new Set<string>();
  for (const { folder, prefix } of databases) {
    const name = join(shown, folder);
    const isOutside = folder.startsWith('..') || isAbsolute(folder);
    const found = isOutside ? null : findExport(path, folder);
    if (found === null) {
      lost.push(describeUnread(name, prefix, isOutside));
      continue;
    }
    const real = realPath(found);
    if (seen.has(real)) continue;
    seen.add(real);
    const file = join(shown, relative(path, found));
    const bytes = readIfThere(found) ?? Buffer.alloc(0);
    if (bytes.toString('latin1').trim() === '') {
      notes.push(`${file} is empty`);
      continue;
    }
    const read = readBeadsFile({ kind: 'path', path: found, shown: file });
    files.push(...read.files);
    records.push(...read.records.records);
    bad.push(...read.records.bad);
    lost.push(...read.lost);
    notes.push(...read.notes);
  }
  if (files.length === 0) throw nothingIn(source, path, shown);
  return { files, records: { records, bad }, lost, notes };
}

/** Where exports of a folder are; the first that exists counts. */
const exportPlaces = [
  '.beads/issues.jsonl',
  '.beads/beads.jsonl',
  'issues.jsonl',
  '.gc/beads.json',
  '.beads/backup/issues.jsonl',
];

function findExport(root: string, folder: string): string | null {
  const at = join(root, folder);
  const redirect = readTextIfThere(join(at, '.beads', 'redirect'));
  const redirected = redirect === null || redirect === '' ? null : resolve(at, redirect);
  const isInside = redirected !== null && !relative(root, redirected).startsWith('..');
  const places = [
    ...(isInside ? [join(redirected, 'issues.jsonl')] : []),
    ...exportPlaces.map((place) => join(at, place)),
  ];
  return places.find((place) => statIfThere(place)?.isFile() === true) ?? null;
}

function readRoutes(root: string): Database[] {
  const text = readTextIfThere(join(root, '.beads', 'routes.jsonl')) ?? '';
  const folders = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const route = parseRoute(line);
    if (route === null) continue;
    const folder = relative(root, resolve(root, route.path));
    if (!folders.has(folder)) folders.set(folder, route.prefix);
  }
  return [...folders].map(([folder, prefix]) => ({ folder, prefix }));
}

function parseRoute(line: string): { readonly prefix: string; readonly path: string } | null {
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return null;
    const [prefix, path] = [readTextField(value.prefix), readTextField(value.path)];
    return path === '' ? null : { prefix, path };
  } catch {
    return null; // a torn line names no database; what it would lead to shows up as ids that no export has
  }
}

function describeUnread(name: string, prefix: string, isOutside: boolean): Lost {
  const shown = cleanLine(name, 200);
  return {
    kind: 'database',
    id: shown,
    what: `the issues of ${shown}${prefix === '' ? '' : ` (${cleanLine(prefix, 40)}…)`}`,
    why: isOutside
      ? 'it is outside of the folder, and was not read'
      : 'there is no export; run there: bd export --all > .beads/issues.jsonl',
  };
}

function nothingIn(source: Source, path: string, shown: string) {
  const hasDatabase = statIfThere(join(path, '.beads')) !== null || statIfThere(join(path, '.gc')) !== null;
  const data = { file: shown };
  if (hasDatabase)
    return importInvalid(
      `${shown} has a database, but no export of its issues`,
      `Run there: bd export --all > .beads/issues.jsonl`,
      data,
    );
  const what = { beads: 'Beads', gastown: 'Gas Town', gascity: 'Gas City', github: 'GitHub' }[source];
  return importInvalid(
    `${shown} is not a folder of ${what}: there is no .beads in it`,
    `Name the folder that has .beads in it, or a file from: ${exportCommand}`,
    data,
  );
}
