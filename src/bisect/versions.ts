import { type Checkpoint, type Found, walkEpic } from '../checkpoint/list.ts';
import { findRemade } from '../checkpoint/lost-objects.ts';
import { readSaved } from '../checkpoint/read-base.ts';
import { nullFor } from '../errors.ts';
import { readTreesOf } from '../git/worktree/tree-diff.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { treeWithoutMark } from '../orchestration-file/orchestration-file.ts';
import type { EpicId, Oid } from '../types.ts';
import type { Verdict } from './next-step.ts';

/** A checkpoint whose code is in this clone. */
export type Version = {
  readonly checkpoint: Checkpoint;
  readonly found: Found;
  /** The snapshot. */
  readonly commit: Oid;
  readonly tree: Oid;
};

export type Versions = {
  /** The oldest first. */
  readonly versions: readonly Version[];
  /** Saved without code, or their code is not in this clone. */
  readonly withoutCode: readonly Found[];
};

/** Lists an epic's checkpoints by whether their code is here. Reads commits only, no documents. */
export async function listVersions(orch: Orch, epic: EpicId): Promise<Versions> {
  const all: Found[] = [];
  for await (const found of walkEpic(orch, epic, ({ message }) => orch.report(message))) all.push(found);
  all.reverse();
  const commitOf = ({ checkpoint: { snapshot } }: Found) => snapshot && findRemade(orch.home, snapshot);
  const trees = await readTreesOf(
    orch.repository,
    all.flatMap((found) => commitOf(found) ?? []),
  );
  const versions: Version[] = [];
  const withoutCode: Found[] = [];
  for (const found of all) {
    const { checkpoint } = found;
    const commit = commitOf(found);
    const tree = commit && trees.get(commit);
    if (commit && tree) versions.push({ checkpoint, found, commit, tree });
    else withoutCode.push(found);
  }
  return { versions, withoutCode };
}

/** What the record says about a gate on exactly this code; null if nothing. */
export async function readRecorded(
  orch: Orch,
  { checkpoint, found, tree }: Version,
  gate: string,
): Promise<Verdict | null> {
  // The colour is about all gates together, but without one, none of them ran on this code.
  if (checkpoint.gates === 'unknown') return null;
  const saved = await readSaved(orch.git, checkpoint.epicId, found.commit).catch(nullFor('INTEGRITY'));
  const result = saved && lookUp(saved.document.state.gates, gate)?.value;
  if (!result || result.status === 'skipped') return null;
  if (result.tree !== (await treeWithoutMark(orch, tree))) return null;
  return result.status === 'passed' ? 'good' : 'bad';
}
