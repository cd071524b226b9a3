import { damaged, type GitEngine } from '../git/engine.ts';
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
  let total = 0;
  for (const { name: run, mode, oid } of runs) {
    const inside = mode === folderMode ? await readTree(git, oid) : [];
    const files = inside.find((entry) => entry.name === filesFolder && entry.mode === folderMode);
    for (const { path, entry } of files ? await listFiles(git, files.oid, '') : []) {
      const { bytes } = await git.readObject(entry.oid, mostBytes);
      total += bytes.length;
      if (total > mostBytes) throw damaged(tree, `more than ${mostBytes} bytes of files of runs`);
      kept.push({ run, path, bytes });
    }
  }
  return kept;
}

type Listed = { readonly path: string; readonly entry: TreeEntry };

/** Runs keep a sixth of this. */
const mostBytes = 64 * 1024 * 1024;
/** Far more than runs keep. A few trees that name one another many times over could stand for billions of files. */
const mostFiles = 20_000;

async function listFiles(git: GitEngine, tree: Oid, under: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  const folders = [{ tree, under }];
  let seen = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of await readTree(git, next.tree)) {
      if (++seen > mostFiles) throw damaged(tree, `a folder of more than ${mostFiles} files`);
      const path = next.under === '' ? entry.name : `${next.under}/${entry.name}`;
      if (entry.mode === folderMode) folders.push({ tree: entry.oid, under: path });
      else listed.push({ path, entry });
    }
  }
  return listed;
}
