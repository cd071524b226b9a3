import { epicsPrefix } from '../../checkpoint/document/names-in-git.ts';
import { askGit } from '../../git/run-git.ts';
import { isEpicId, isTaskOf, parseEpicId } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import type { EpicId } from '../../types.ts';
import { findNamed, type KnownConvoy, type NameQuestion, readConvoy } from '../find-convoy.ts';
import { mergedName } from '../names.ts';

/* Which convoys a report is about. Their records are enough: their branches may be gone. */

/** Finds the convoy that a person names: by its name, as any other command does, or the newest. */
export async function findReported(orch: Orch, question: NameQuestion): Promise<KnownConvoy> {
  const name = question.epic ?? question.word;
  if (name !== undefined && isEpicId(name)) {
    const known = await readConvoy(orch, parseEpicId(name));
    if (known?.isConvoy) return known;
  }
  if (name === undefined) {
    const [newest] = await listNewestConvoys(orch, 1);
    if (newest !== undefined) return newest;
  }
  return (await findNamed(orch, question)).convoy;
}

/** Lists the newest convoys, by when they began; only those are read, however many there are. */
export async function listNewestConvoys(orch: Orch, limit: number): Promise<KnownConvoy[]> {
  const found: KnownConvoy[] = [];
  const epics = await listByActivity(orch);
  for (let at = 0; found.length < limit && at < epics.length; at += limit) {
    const read = await Promise.all(epics.slice(at, at + limit).map((epic) => readConvoy(orch, epic)));
    found.push(...read.filter((each) => each !== null).filter(({ isConvoy }) => isConvoy));
  }
  return found.sort((a, b) => b.run.head.startedAt - a.run.head.startedAt).slice(0, limit);
}

/** The epics that look like convoys, those that recorded something last first. */
async function listByActivity({ repository }: Orch): Promise<EpicId[]> {
  const branches = `refs/heads/orch/*/${mergedName}`;
  const { stdout } = await askGit(repository, [
    ...['for-each-ref', '--sort=-committerdate', '--format=%(refname)'],
    ...[epicsPrefix, branches],
  ]);
  const refs = stdout.split('\n').filter((ref) => ref !== '');
  const own = refs.filter((ref) => ref.startsWith(epicsPrefix)).map((ref) => ref.slice(epicsPrefix.length));
  const merging = new Set(refs.flatMap((ref) => /^refs\/heads\/orch\/([^/]+)\//.exec(ref)?.[1] ?? []));
  const epics = own.filter(isEpicId).map(parseEpicId);
  const parents = findParents(epics);
  const inRefs = epics.filter((epic) => merging.has(epic) || parents.has(epic));
  // One that has only just begun has no checkpoint yet.
  const fresh = [...merging].filter((name) => isEpicId(name) && !own.includes(name)).map(parseEpicId);
  return [...fresh, ...inRefs];
}

/** The epics with tasks: `auth` if there is `auth--login`. In order of their names, a task follows its convoy. */
function findParents(epics: readonly EpicId[]): ReadonlySet<EpicId> {
  const sorted = [...epics].sort();
  const parents = new Set<EpicId>();
  const open: EpicId[] = [];
  for (const epic of sorted) {
    let above = open.at(-1);
    while (above !== undefined && !epic.startsWith(above)) {
      open.pop();
      above = open.at(-1);
    }
    for (const each of open) if (isTaskOf(epic, each)) parents.add(each);
    open.push(epic);
  }
  return parents;
}
