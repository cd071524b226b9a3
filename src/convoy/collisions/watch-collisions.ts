import { messageOf } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { runGit } from '../../git/run-git.ts';
import { parseSnapshotRef, snapshotsPrefix } from '../../git/snapshot/snapshot-message.ts';
import { parseOid } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { EpicId, Millis, Oid } from '../../types.ts';
import { mergedBranch } from '../names.ts';
import {
  type CollisionChanges,
  decideCollisions,
  type KnownCollisions,
  noCollisions,
} from './decide-collisions.ts';
import { findCollisions, nothingCompared } from './find-collisions.ts';

/** A task that a worker does now, with the epic that has its snapshots, and the commit where it began. */
export type WorkingTask = { readonly task: string; readonly epic: EpicId; readonly base: Oid };

export type CollisionWatch = {
  readonly convoy: EpicId;
  /** The worktree of the merged branch. */
  readonly worktree: Repository;
  readonly listWorking: () => readonly WorkingTask[];
  /** Called when collisions begin, end or change. */
  readonly onChange: (changes: CollisionChanges) => void | Promise<void>;
  readonly tell: (task: string, text: string) => void | Promise<void>;
  readonly signal: AbortSignal;
  /** What an earlier scheduler knew: nothing is told twice. */
  readonly known?: KnownCollisions;
  /** How long it waits between two looks. */
  readonly pause?: Millis;
};

const defaultPause: Millis = 2_000;

/** Looks for collisions whenever a worker has a new snapshot or something was merged, until the signal aborts. */
export async function watchCollisions(orch: Orch, watch: CollisionWatch): Promise<void> {
  const { convoy, worktree, signal } = watch;
  const compared = nothingCompared();
  let known = watch.known ?? noCollisions;
  let seen = '';
  let problem = '';
  const look = async () => {
    const working = watch.listWorking();
    const { works, merged } = await readWorks(orch, convoy, working);
    const now = JSON.stringify([works, merged]);
    if (now === seen) return;
    const collisions = await findCollisions(orch, works, { merged, worktree, known: compared });
    const changes = decideCollisions(convoy, known, collisions);
    const isNew = JSON.stringify(changes.known.current) !== JSON.stringify(known.current);
    known = changes.known;
    seen = now;
    if (isNew) await watch.onChange(changes);
    for (const { task, text } of changes.messages)
      try {
        await watch.tell(task, text);
      } catch (error) {
        orch.report(`${task} could not be told of a collision: ${messageOf(error)}`);
      }
  };
  while (!signal.aborted) {
    try {
      await look();
      problem = '';
    } catch (error) {
      // Collisions are a warning: without it, the merge queue still finds every conflict.
      const text = `collisions could not be checked: ${messageOf(error)}`;
      if (text !== problem) orch.report(text);
      problem = text;
    }
    await sleepUnlessAborted(watch.pause ?? defaultPause, signal);
  }
}

/** The newest snapshot of each task, and what is merged; a task without a snapshot has changed nothing yet. */
async function readWorks({ repository }: Orch, convoy: EpicId, working: readonly WorkingTask[]) {
  if (working.length === 0) return { works: [], merged: null };
  const branch = `refs/heads/${mergedBranch(convoy)}`;
  const patterns = working.map(({ epic }) => `${snapshotsPrefix}${epic}/`);
  const format = '--format=%(objectname) %(refname)';
  const refs = ['for-each-ref', '--sort=committerdate', format, branch, ...patterns];
  const lines = (await runGit(repository, refs)).split('\n').filter(Boolean);
  const newest = new Map<string, Oid>();
  for (const line of lines) {
    const [oid = '', ref = ''] = line.split(' ');
    newest.set(parseSnapshotRef(ref)?.epic ?? ref, parseOid(oid));
  }
  const works = working.flatMap(({ task, epic, base }) => {
    const commit = newest.get(epic);
    return commit === undefined ? [] : [{ task, commit, base }];
  });
  return { works, merged: newest.get(branch) ?? null };
}
