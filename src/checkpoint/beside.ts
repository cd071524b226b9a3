import type { GitEngine } from '../git/engine.ts';
import { listPath, readTree } from '../git/read.ts';
import { folderMode, type TreeEntry } from '../git/tree.ts';
import type { EpicId, Oid } from '../types.ts';
import { filesFolder, type RunFile } from './run-files.ts';
import { artifactsFolder, epicFolder } from './tree.ts';

/** What is in an epic's folder: names, and for what belongs to runs the whole paths. */
export async function listBeside(git: GitEngine, tree: Oid, epic: EpicId): Promise<string[]> {
  const entries = (await listPath(git, tree, epicFolder(epic))) ?? [];
  const others = entries.filter((entry) => !isArtifacts(entry)).map(({ name }) => name);
  return [...others, ...(await listRunPaths(git, entries))];
}

/** The paths of what belongs to runs, of the entries of an epic's folder. */
export async function listRunPaths(git: GitEngine, entries: readonly TreeEntry[]): Promise<string[]> {
  const runs = entries.find(isArtifacts);
  const listed = runs === undefined ? [] : await listFiles(git, runs.oid, artifactsFolder);
  return listed.map(({ path }) => path);
}

function isArtifacts({ name, mode }: TreeEntry): boolean {
  return name === artifactsFolder && mode === folderMode;
}

/** The files that runs keep in a tree. */
export async function readRunFiles(git: GitEngine, tree: Oid, epic: EpicId): Promise<RunFile[]> {
  const runs = (await listPath(git, tree, [...epicFolder(epic), artifactsFolder])) ?? [];
  const kept: RunFile[] = [];
  for (const { name: run, mode, oid } of runs) {
    const inside = mode === folderMode ? await readTree(git, oid) : [];
    const files = inside.find((entry) => entry.name === filesFolder && entry.mode === folderMode);
    for (const { path, entry } of files ? await listFiles(git, files.oid, '') : []) {
      const { bytes } = await git.readObject(entry.oid);
      kept.push({ run, path, bytes });
    }
  }
  return kept;
}

type Listed = { readonly path: string; readonly entry: TreeEntry };

async function listFiles(git: GitEngine, tree: Oid, under: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const entry of await readTree(git, tree)) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.mode === folderMode) listed.push(...(await listFiles(git, entry.oid, path)));
    else listed.push({ path, entry });
  }
  return listed;
}
