import { type Checkpoint, walkEpic } from '../checkpoint/list.ts';
import { findCheckpoint, parseName } from '../checkpoint/names.ts';
import { withoutMonitor } from '../git/run-git.ts';
import { readWorkTree } from '../git/snapshot/snapshot.ts';
import { listFileChanges } from '../git/worktree/code-changes.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { EpicId, Oid } from '../types.ts';
import { using, type Where } from '../where.ts';
import { findCheckpointCode } from './find-target.ts';
import { explainLostCode } from './missing-code.ts';
import { isWithin } from './plan-restore.ts';
import { resolvePaths, showPaths } from './propose-restore.ts';

export type DiffInput = {
  readonly epicId: string;
  /** The older side, by name; `latest` by default. */
  readonly from?: string;
  /** The newer side; the current files by default. */
  readonly to?: string | null;
  /** Only these files and folders. */
  readonly paths?: readonly string[];
  /** The folder that paths are relative to; the top of the working tree by default. */
  readonly cwd?: string;
};

export type DiffResult = {
  /** The checkpoint's id; null for the current files. */
  readonly from: string | null;
  readonly to: string | null;
  readonly files: readonly {
    readonly path: string;
    readonly status: 'added' | 'modified' | 'deleted';
    /** Lines; null if the file is not text. */
    readonly additions: number | null;
    readonly deletions: number | null;
  }[];
};

/** One side of a comparison: the code of a checkpoint, or the current files. */
type Side = {
  readonly tree: Oid;
  /** `ckpt 51`, or `now`. */
  readonly label: string;
  /** Null for the current files. */
  readonly checkpoint: Checkpoint | null;
  /** Files that are not in the tree, so they are not compared. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
};

/** Compares the code of two checkpoints, or of one with the current files. */
export async function diffCheckpoints(input: DiffInput, where: Where = {}): Promise<DiffResult> {
  return using(where, async (orch) => {
    const [from, to] = await readSides(orch, input);
    const scope = input.paths ? showPaths(resolvePaths(orch.repository, input.cwd, input.paths)) : null;
    const compare = () => listFileChanges(orch.repository, from.tree, to.tree);
    const files = (await explainSides(orch, [from, to], compare))
      .filter(({ path }) => isWithin(path, scope))
      .map(({ path, change: status, added: additions, removed: deletions }) => {
        return { path, status, additions, deletions };
      });
    return { from: from.checkpoint?.id ?? null, to: to.checkpoint?.id ?? null, files };
  });
}

/** The two trees of a comparison, for a program that compares them itself. */
export type DiffSides = {
  readonly from: Pick<Side, 'tree' | 'label'>;
  readonly to: Pick<Side, 'tree' | 'label'>;
  /** Files that are in no snapshot, so the comparison does not show them. */
  readonly notCompared: readonly string[];
  /** Options for the git command that reads the trees, so that it starts no program that the repository names. */
  readonly gitOptions: readonly string[];
};

/** Finds the two trees of a comparison and passes them to `work`. If that fails because code is lost, the error says so. */
export async function withDiffSides<T>(
  input: DiffInput,
  work: (sides: DiffSides) => Promise<T>,
  where: Where = {},
): Promise<T> {
  return using(where, async (orch) => {
    const [from, to] = await readSides(orch, input);
    const notCompared = [...new Set([...from.leftOut, ...to.leftOut].map(({ path }) => path))];
    return explainSides(orch, [from, to], () => work({ from, to, notCompared, gitOptions: withoutMonitor }));
  });
}

/**
 * A session name alone means the work of that session: from its first checkpoint to its last, or to the current files
 * if it is the newest session.
 */
async function readSides(
  orch: Orch,
  { epicId, from = 'latest', to = null }: DiffInput,
): Promise<readonly [older: Side, newer: Side]> {
  const epic = parseEpicId(epicId);
  const isSession = to === null && parseName(from, orch.clock.now()).kind === 'session';
  const span = isSession ? await findSpan(orch, epic, from) : { from, to };
  return [await readSide(orch, epic, span.from), await readSide(orch, epic, span.to)];
}

async function findSpan(orch: Orch, epic: EpicId, session: string) {
  const { checkpoint: last, index } = await findCheckpoint(orch, epic, session);
  const withCode: string[] = [];
  const ignoreDamage = () => {}; // findCheckpoint has reported it
  for await (const { checkpoint } of walkEpic(orch, epic, ignoreDamage)) {
    if (checkpoint.sessionId !== last.sessionId) continue;
    if (checkpoint.snapshot !== null) withCode.push(checkpoint.id);
    if (checkpoint.trigger === 'session_start') break;
  }
  return { from: withCode.at(-1) ?? session, to: index === 0 || withCode.length < 2 ? null : session };
}

async function readSide(orch: Orch, epic: EpicId, name: string | null): Promise<Side> {
  if (name === null) {
    const { maxFileBytes } = await orch.readSettings();
    const { tree, leftOut } = await readWorkTree(orch, maxFileBytes);
    return { tree, label: 'now', checkpoint: null, leftOut };
  }
  const { tree, label, leftOut, source } = await findCheckpointCode(orch, epic, name);
  return { tree, label, leftOut, checkpoint: source.kind === 'checkpoint' ? source.checkpoint : null };
}

function explainSides<T>(orch: Orch, sides: readonly Side[], work: () => Promise<T>): Promise<T> {
  const checkpoints = sides.flatMap(({ checkpoint }) => checkpoint ?? []);
  return explainLostCode(orch, checkpoints, work);
}
