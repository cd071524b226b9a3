import type { FolderReader, Found, GateName } from './ecosystem-shape.ts';

const lockFiles: readonly [file: string, manager: string][] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** Under which names projects keep the same thing. */
const scripts: readonly [name: GateName, spellings: readonly string[]][] = [
  ['test', ['test']],
  ['typecheck', ['typecheck', 'type-check', 'check-types', 'check:types']],
  ['lint', ['lint']],
  ['build', ['build']],
];

/** The scripts of a `package.json`, run by the package manager the project uses. */
export function findNodeGates(folder: FolderReader): Found | null {
  const text = folder.read('package.json');
  if (text === null) return null;
  const names = folder.list('.');
  const manifest = parseManifest(text);
  const manager = manifest?.manager ?? lockFiles.find(([file]) => names.includes(file))?.[1] ?? 'npm';
  // A damaged one has scripts nobody can see: the manager is asked for the tests, fails, and says what is wrong.
  const has = (name: string) => (manifest === null ? name === 'test' : isReal(manifest.scripts[name]));
  const lines = scripts.flatMap(([name, spellings]) => {
    const script = spellings.find(has);
    return script === undefined ? [] : [[name, `${manager} run ${script}`]];
  });
  return { ecosystem: manager, lines: Object.fromEntries(lines) };
}

/** Is it more than the line npm puts into every new project? */
function isReal(script: unknown): boolean {
  return typeof script === 'string' && script.trim() !== '' && !script.includes('no test specified');
}

type Manifest = { readonly scripts: { readonly [name: string]: unknown }; readonly manager: string | null };

function parseManifest(text: string): Manifest | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return null; // the caller makes that visible
  }
  if (!isRecord(parsed)) return null;
  const { scripts, packageManager } = parsed;
  const named = typeof packageManager === 'string' ? packageManager : '';
  const [, manager = null] = /^(npm|pnpm|yarn|bun)@/.exec(named) ?? [];
  return { scripts: isRecord(scripts) ? scripts : {}, manager };
}

function isRecord(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
