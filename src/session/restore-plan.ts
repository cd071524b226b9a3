import type { Checkpoint } from '../checkpoint/list.ts';
import { foldersAbove, isWithin, planRestore, type RestorePlan } from '../checkpoint/restore.ts';
import { OrchError } from '../errors.ts';
import { findEntry } from '../git/read.ts';
import { showPath } from '../git/restore.ts';
import { changesRules, listIgnoredBy } from '../git/restore-ignored.ts';
import { listTrackedAndUnseen, lookForObstacles } from '../git/restore-look.ts';
import { type LeftOut, readWorkTree, whyNoSnapshot } from '../git/snapshot.ts';
import { findMissing } from '../git/storage.ts';
import { diffTrees, type TreeChange } from '../git/tree-diff.ts';
import { listUndos, type Undo } from '../git/undo.ts';
import type { Oid } from '../types.ts';
import { withCode } from './lost-code.ts';
import { codeNotHere, needsGit, type RestorePorts, type RestoreTarget } from './restore-target.ts';

/** What a restore would do here, and what it was decided from. */
export type Proposal = {
  readonly target: RestoreTarget;
  readonly plan: RestorePlan;
  readonly worktree: string;
  readonly present: {
    readonly tree: Oid;
    readonly leftOut: readonly LeftOut[];
    readonly maxFileBytes: number;
  };
};

/** Looks at the files, and decides what has to become of them. Changes nothing. */
export async function proposeRestore(ports: RestorePorts, target: RestoreTarget): Promise<Proposal> {
  return withCode(ports, checkpointsOf(target), () => lookAndDecide(ports, target));
}

export function checkpointsOf({ source }: Pick<RestoreTarget, 'source'>): Checkpoint[] {
  return source.kind === 'checkpoint' ? [source.checkpoint] : [];
}

async function lookAndDecide(ports: RestorePorts, target: RestoreTarget): Promise<Proposal> {
  const { repository } = ports;
  const worktree = requireWorktree(ports);
  const { maxFileBytes } = await ports.readSettings();
  const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
  await refuseUnknownPaths(ports, target, tree);
  const isMeant = ({ path }: TreeChange) => isWithin(path, target.scope);
  const changes = (await diffTrees(repository, tree, target.tree)).filter(isMeant);
  refuseForbidden(changes);
  const written =
    target.source.kind === 'undo' ? await listWritten(ports, target.source.undo, target.scope) : [];
  const known = new Set(changes.filter(({ from }) => from).map(({ path }) => path));
  const ours = new Set([...written].filter((path) => !known.has(path)));
  const appearing = changes.filter(({ from }) => from === null).map(({ path }) => path);
  const removed = new Set(changes.filter(({ to }) => to === null).map(({ path }) => path));
  const paths = [...appearing, ...ours];
  const looked = new Set([...paths, ...paths.flatMap(foldersAbove)]);
  const { tracked, unseen } = await listTrackedAndUnseen(repository);
  const plan = planRestore({
    ...lookForObstacles(worktree, looked, removed),
    changes,
    leftOutNow: byPath(leftOut),
    leftOutThen: byPath(target.leftOut),
    unseen,
    ignored: await listIgnored(
      ports,
      { tree, target },
      [...removed].filter((path) => !tracked.has(path)),
    ),
    ours,
    maxFileBytes,
  });
  const missing = await findMissing(
    repository,
    [...plan.write.values()].map(({ oid }) => oid),
  );
  if (missing.length > 0) throw codeNotHere(seqOf(target), { missing: missing.length });
  return { target, plan, worktree, present: { tree, leftOut, maxFileBytes } };
}

export function seqOf({ source }: RestoreTarget): number | null {
  return source.kind === 'checkpoint' ? source.checkpoint.seq : null;
}

function requireWorktree(ports: RestorePorts): string {
  const { worktree } = ports.repository;
  const problem = whyNoSnapshot(ports);
  if (worktree !== null && problem === null) return worktree;
  if (worktree === null) {
    throw new OrchError('REPOSITORY_UNSUPPORTED', `nothing can be restored here: ${problem}`, {
      hint: 'Put the code into a folder of its own instead: orch restore NAME --to DIR',
    });
  }
  throw needsGit();
}

/** What is left out is named as text; trees name paths in bytes. */
function byPath(leftOut: RestoreTarget['leftOut']): Map<string, string> {
  return new Map(leftOut.map(({ path, reason }) => [Buffer.from(path).toString('latin1'), reason]));
}

/** A tree that came from elsewhere may name what git itself never would. */
function refuseForbidden(changes: readonly TreeChange[]): void {
  const wrong = changes.find(({ path, to }) => to && /(^|\/)(\.git|\.\.?)(\/|$)/i.test(path));
  if (wrong === undefined) return;
  throw new OrchError('INTEGRITY', `the snapshot holds ${showPath(wrong.path)}, which no snapshot may`, {
    hint: 'Nothing was changed. Restore another checkpoint: orch checkpoint list',
  });
}

async function refuseUnknownPaths({ git }: RestorePorts, target: RestoreTarget, tree: Oid): Promise<void> {
  if (target.source.kind === 'undo') return; // a path may be in neither, by now
  for (const path of target.scope ?? []) {
    if (path === '' || (await findEntry(git, target.tree, path)) || (await findEntry(git, tree, path)))
      continue;
    throw new OrchError('USAGE', `${showPath(path)} is neither in ${target.label} nor in the working tree`, {
      hint: `See what ${target.label} has with: orch diff ${seqOf(target)}`,
    });
  }
}

/** The files a restore wrote where nothing was. They may be ignored by now, and in no tree. */
export async function listWritten(
  { repository }: RestorePorts,
  { restored }: Undo,
  scope: RestoreTarget['scope'],
): Promise<Set<string>> {
  const written = new Set<string>();
  for (const done of restored) {
    for (const { path, from } of await diffTrees(repository, done.from, done.to)) {
      if (from === null && isWithin(path, scope)) written.add(path);
    }
  }
  return written;
}

/**
 * Which untracked files were ignored, by the rules of what is restored, or by those there were before the last
 * restore: it may have taken the rules away, and must not be taken for a reason to remove the files.
 */
async function listIgnored(
  ports: RestorePorts,
  { tree, target }: { readonly tree: Oid; readonly target: RestoreTarget },
  untracked: readonly string[],
): Promise<Map<string, string>> {
  const last = untracked.length === 0 ? null : ((await listUndos(ports)).at(-1) ?? null);
  const written = last === null ? new Set<string>() : await listWritten(ports, last.undo, null);
  const paths = untracked.filter((path) => !written.has(path));
  const ignored = new Map<string, string>();
  const sources: (readonly [Oid | undefined, string])[] = [
    [last?.undo.tree, 'ignored before the last restore'],
    [target.tree, 'ignored there'],
  ];
  for (const [rules, reason] of sources) {
    if (rules === undefined || !changesRules(await diffTrees(ports.repository, tree, rules))) continue;
    for (const path of await listIgnoredBy(ports, rules, paths)) ignored.set(path, reason);
  }
  return ignored;
}
