import type { Environment } from '../system/spawn.ts';
import { worthPacking } from './object-packs.ts';
import type { Repository } from './repository.ts';
import { type Finished, gitFailed } from './spawn.ts';
import type { LeftOut } from './work-tree-changes.ts';
import { joinPaths, runOnIndex } from './work-tree-git.ts';

/*
 * Storing files of the working tree, and noting them in an index of ours.
 */

/** A path git did not take; its name in bytes. */
export type Refused = { readonly path: string; readonly reason: LeftOut['reason'] };

/** So many files git may fail on before the snapshot does; each costs another try. */
const maxRefused = 50;

const updateArgs = ['update-index', '-z', '--verbose', '--add', '--remove', '--replace', '--stdin'];

/**
 * Brings paths in an index up to what is on disk: stored where something is there, else removed.
 * What git cannot take (a filter that fails, a file that became a folder meanwhile) is left as it was, and returned.
 */
export async function updateIndex(
  repository: Repository,
  paths: readonly string[],
  environment: Environment,
): Promise<Refused[]> {
  const leftOut: Refused[] = [];
  let rest = await storeInPacks(repository, paths, environment);
  while (rest.length > 0) {
    const result = await runOnIndex(repository, updateArgs, environment, joinPaths(rest));
    const { refused, failed } = findUndone(rest, result);
    for (const path of refused) leftOut.push({ path, reason: 'refused by git' });
    if (result.status === 0) break;
    if (failed === null || leftOut.length >= maxRefused) throw gitFailed(updateArgs, result);
    leftOut.push({ path: failed, reason: 'unreadable' });
    // It wrote nothing, because of one: all the others again.
    const undone = new Set([...refused, failed]);
    rest = rest.filter((path) => !undone.has(path));
  }
  return leftOut;
}

/** git compares each file of a pack in the making with all before it. */
const mostInPack = 5_000;

/**
 * Brings many paths up to what is on disk, with their contents in a few packs, and returns those that are left to do:
 * the few of a small change, what git refuses, and everything where git is too old to put several files into one pack.
 */
async function storeInPacks(
  repository: Repository,
  paths: readonly string[],
  environment: Environment,
): Promise<readonly string[]> {
  if (paths.length < worthPacking || !(await canPackMany(repository))) return paths;
  const rest: string[] = [];
  for (let at = 0; at < paths.length; at += mostInPack) {
    const part = paths.slice(at, at + mostInPack);
    const result = await runOnIndex(repository, packArgs, environment, joinPaths(part));
    if (result.status !== 0 || result.stderr.includes('Ignoring path ')) rest.push(...part);
  }
  return rest;
}

/** Told to say what it does, git would make a pack for each file. */
const packArgs = [
  ...['core.bigFileThreshold=1', 'core.compression=1'].flatMap((setting) => ['-c', setting]),
  ...updateArgs.filter((arg) => arg !== '--verbose'),
];

/** Since 2.37 `update-index` stores all that it is given in one go. */
async function canPackMany(repository: Repository): Promise<boolean> {
  const { stdout } = await runOnIndex(repository, ['version'], {});
  const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 37);
}

/** git says in turn what it has done; the first it says nothing about is the one it failed at. */
function findUndone(
  paths: readonly string[],
  { stdout, stderr }: Pick<Finished, 'stdout' | 'stderr'>,
): { refused: string[]; failed: string | null } {
  const refused: string[] = [];
  let at = 0;
  for (const path of paths) {
    const said = `add '${path}'\n`;
    if (stdout.startsWith(said, at)) at += said.length;
    else if (stderr.includes(`Ignoring path ${Buffer.from(path, 'latin1').toString()}`)) refused.push(path);
    else return { refused, failed: path };
  }
  return { refused, failed: null };
}
