import { type FolderReader, type Found, gateNames } from './ecosystem-shape.ts';

/** The targets of a makefile, the first of the names make looks for. */
export function findMakeGates(folder: FolderReader): Found | null {
  const text = readFirst(folder, ['GNUmakefile', 'makefile', 'Makefile']);
  return text === null ? null : describe('make', listTargets(text));
}

/** The recipes of a justfile. */
export function findJustGates(folder: FolderReader): Found | null {
  const text = readFirst(folder, ['justfile', 'Justfile', '.justfile', 'JUSTFILE']);
  return text === null ? null : describe('just', listRecipes(text));
}

function readFirst(folder: FolderReader, files: readonly string[]): string | null {
  // By the listing: where letter case does not count, one file would be found under several names.
  const name = files.find((file) => folder.list('.').includes(file));
  return name === undefined ? null : folder.read(name);
}

function describe(ecosystem: string, targets: ReadonlySet<string>): Found {
  const names = gateNames.filter((name) => targets.has(name));
  return { ecosystem, lines: Object.fromEntries(names.map((name) => [name, `${ecosystem} ${name}`])) };
}

/** The names before a colon that assigns nothing; a rule may have several. */
export function listTargets(makefile: string): Set<string> {
  const rules = makefile.replace(/\\\r?\n/g, ' ').matchAll(/^([^\s#:=][^#:=\n]*)::?(?![:=])/gm);
  return new Set([...rules].flatMap(([, names = '']) => names.split(/\s+/)));
}

/** The recipes that can be called without arguments. */
export function listRecipes(justfile: string): Set<string> {
  const recipes = justfile.matchAll(/^@?([A-Za-z_][\w-]*)((?:[ \t][^:\n]*)?):(?!=)/gm);
  return new Set(
    [...recipes].flatMap(([, name = '', parameters = '']) => (needsNone(parameters) ? [name] : [])),
  );
}

/** Has every parameter a default, or is it of the kind that may be left out? */
function needsNone(parameters: string): boolean {
  const words = parameters
    .replace(/\s+/g, ' ')
    .replace(/ ?= ?("[^"]*"|'[^']*'|\S+)/g, '=')
    .split(/\s+/)
    .filter(Boolean);
  return words.every((word) => word.endsWith('=') || word.startsWith('*'));
}
