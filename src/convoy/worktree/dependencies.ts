import { join } from 'node:path';
import { listOf, text, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import type { Repository } from '../../git/repository.ts';
import { describeFiles } from '../../git/worktree/ignored-files.ts';
import { listOwnWorktrees, openWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import type { Worker } from '../../plan/convoy-shape.ts';
import { lstatIfThere, makeFolder, statIfThere } from '../../system/disk.ts';
import { listFilesBelow, removeTree } from '../../system/files-in-bulk.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import { mentionsPath, reflinks, type SharedCopies } from '../../system/shared-copies.ts';
import type { EpicId } from '../../types.ts';
import { mergedName, worktreeName } from '../names.ts';

/*
 * What a setup installed is kept, as it was before a worker changed it, for worktrees of the same convoy with the same
 * lock files: only where the file system can share contents, because otherwise an install costs no more than a copy.
 */

const lockFiles: readonly string[] = [
  ...['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb'],
  ...['deno.lock', 'Cargo.lock', 'go.sum', 'poetry.lock', 'uv.lock', 'pdm.lock', 'Pipfile.lock'],
  ...['requirements*.txt', 'Gemfile.lock', 'composer.lock', 'mix.lock', 'pubspec.lock', 'Package.resolved'],
  ...['gradle.lockfile', 'packages.lock.json', 'flake.lock'],
];

/** What a setup installs depends on this; null without lock files, because then nothing tells. */
export async function digestSetup(
  worktree: Repository,
  setup: NonNullable<Worker['setup']>,
): Promise<string | null> {
  const locks = await describeFiles(worktree, lockFiles);
  return locks === '' ? null : hash('sha256', `${JSON.stringify(setup)}\0${locks}`).slice(0, 32);
}

type Kept = { readonly made: readonly string[] };

const isKept = withFields<Kept>({ made: listOf(text) });

/** Beside what git knows of the merge worktree, so that it goes with the convoy; null if there is none. */
function findStore(orch: Orch, convoy: EpicId): string | null {
  const name = worktreeName(convoy, mergedName);
  const merged = listOwnWorktrees(orch, name).find((own) => own.name === name);
  if (merged === undefined || statIfThere(merged.path) === null) return null;
  return join(openWorktree(merged).gitDir, 'orch-dependencies');
}

const plain = (path: string) => path.replace(/\/+$/, '');

/** Do files below these folders name the folder that they are in? Then they work only there. */
export function areTied(folder: string, made: readonly string[]): Promise<boolean> {
  const files = made.flatMap((path) => {
    const inner = plain(path);
    return lstatIfThere(join(folder, inner))?.isDirectory()
      ? listFilesBelow(join(folder, inner)).map((each) => each.slice(folder.length + 1))
      : [inner];
  });
  return mentionsPath(folder, files, folder);
}

type DependencyRequest = {
  readonly convoy: EpicId;
  readonly digest: string;
  /** The worktree's folder. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly shared?: SharedCopies;
};

/** Keeps what a setup just made, if contents can be shared with it. */
export async function keepDependencies(
  orch: Orch,
  { convoy, digest, folder, signal, shared = reflinks, made }: DependencyRequest & Kept,
): Promise<void> {
  const store = findStore(orch, convoy);
  if (store === null || made.length === 0 || statIfThere(join(store, digest)) !== null) return;
  await makeFolder(orch.disk, store);
  if (!(await shared.areSupported(folder, store)) || (await areTied(folder, made))) return;
  const unfinished = join(store, `unfinished-${orch.random.id(8)}`);
  for (const path of made) {
    if (await shared.copy(join(folder, plain(path)), join(unfinished, 'files', plain(path)), signal))
      continue;
    removeTree(orch.disk, unfinished);
    return;
  }
  await writeJson(orch, join(unfinished, 'made.json'), { made } satisfies Kept);
  orch.disk.rename(unfinished, join(store, digest));
}

/** Brings in what the same setup made for another worktree. Returns what it brought; null if it has to run. */
export async function copyDependencies(
  orch: Orch,
  { convoy, digest, folder, signal, shared = reflinks }: DependencyRequest,
): Promise<readonly string[] | null> {
  const store = findStore(orch, convoy);
  const kept = store === null ? null : readJson(join(store, digest, 'made.json'), isKept);
  if (store === null || kept === null) return null;
  const places = kept.made.map((path) => join(folder, plain(path)));
  if (places.some((place) => lstatIfThere(place) !== null)) return null;
  if (!(await shared.areSupported(store, folder))) return null;
  for (const [at, path] of kept.made.entries()) {
    if (await shared.copy(join(store, digest, 'files', plain(path)), places[at] ?? '', signal)) continue;
    for (const place of places) removeTree(orch.disk, place);
    return null;
  }
  return kept.made;
}
