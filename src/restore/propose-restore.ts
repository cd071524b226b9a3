import { basename, relative, resolve, sep } from 'node:path';
import type { Checkpoint } from '../checkpoint/list.ts';
import { OrchError } from '../errors.ts';
import { findMissing } from '../git/objects/reachable.ts';
import { findEntry } from '../git/objects/read-objects.ts';
import { formatPath } from '../git/objects/tree-object.ts';
import type { Repository } from '../git/repository.ts';
import { countDivergence, findOperation } from '../git/repository-facts.ts';
import { explainNoSnapshot, type LeftOut, readWorkTree } from '../git/snapshot/snapshot.ts';
import {
  changesIgnoreRules,
  findObstacles,
  listIgnoredBy,
  listTrackedAndUnseen,
} from '../git/worktree/obstacles.ts';
import { diffTrees, type TreeChange } from '../git/worktree/tree-diff.ts';
import { listUndos, type Undo } from '../git/worktree/undo-refs.ts';
import { checkLive, listLive } from '../journal/live.ts';
import { realPath } from '../system/disk.ts';
import type { Oid, SessionId } from '../types.ts';
import { codeNotHere, needsGit, type RestorePorts, type RestoreTarget } from './find-target.ts';
import { explainLostCode } from './missing-code.ts';
import { foldersAbove, isWithin, planRestore, type RestorePlan } from './plan-restore.ts';

/** What a restore would do, and the facts behind it. */
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

/** Reads the files and plans what a restore does to each. Changes nothing. */
export async function proposeRestore(ports: RestorePorts, target: RestoreTarget): Promise<Proposal> {
  return explainLostCode(ports, checkpointsOf(target), () => readAndPlan(ports, target));
}

export function checkpointsOf({ source }: Pick<RestoreTarget, 'source'>): Checkpoint[] {
  return source.kind === 'checkpoint' ? [source.checkpoint] : [];
}

async function readAndPlan(ports: RestorePorts, target: RestoreTarget): Promise<Proposal> {
  const { repository } = ports;
  const worktree = requireWorktree(ports);
  const { maxFileBytes } = await ports.readSettings();
  const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
  await refuseUnknownPaths(ports, target, tree);
  const changes = (await diffTrees(repository, tree, target.tree)).filter(({ path }) =>
    isWithin(path, target.scope),
  );
  refuseForbidden(changes);
  const written =
    target.source.kind === 'undo' ? await listWritten(ports, target.source.undo, target.scope) : [];
  const known = new Set(changes.filter(({ from }) => from).map(({ path }) => path));
  const ours = new Set([...written].filter((path) => !known.has(path)));
  const appearing = changes.filter(({ from }) => from === null).map(({ path }) => path);
  const removed = new Set(changes.filter(({ to }) => to === null).map(({ path }) => path));
  const paths = [...appearing, ...ours];
  const inspected = new Set([...paths, ...paths.flatMap(foldersAbove)]);
  const { tracked, unseen } = await listTrackedAndUnseen(repository);
  const plan = planRestore({
    ...findObstacles(worktree, inspected, removed),
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
  const problem = explainNoSnapshot(ports);
  if (worktree === null) {
    throw new OrchError('REPOSITORY_UNSUPPORTED', `cannot restore here: ${problem}`, {
      hint: 'Restore into a folder of its own instead: orch restore NAME --to DIR',
    });
  }
  if (problem !== null) throw needsGit();
  return worktree;
}

/** Left-out files are named as text, paths in trees as latin1 bytes. */
function byPath(leftOut: RestoreTarget['leftOut']): Map<string, string> {
  return new Map(leftOut.map(({ path, reason }) => [Buffer.from(path).toString('latin1'), reason]));
}

/** A tree from another clone may hold names that git itself would never write. */
function refuseForbidden(changes: readonly TreeChange[]): void {
  const wrong = changes.find(({ path, to }) => to && /(^|\/)(\.git|\.\.?)(\/|$)/i.test(path));
  if (wrong === undefined) return;
  throw new OrchError('INTEGRITY', `the snapshot contains the forbidden path ${formatPath(wrong.path)}`, {
    hint: 'Nothing was changed. Choose another checkpoint: orch checkpoint list',
  });
}

async function refuseUnknownPaths({ git }: RestorePorts, target: RestoreTarget, tree: Oid): Promise<void> {
  if (target.source.kind === 'undo') return; // by now, a path may be in neither
  for (const path of target.scope ?? []) {
    if (path === '' || (await findEntry(git, target.tree, path)) || (await findEntry(git, tree, path)))
      continue;
    throw new OrchError(
      'USAGE',
      `${formatPath(path)} is neither in ${target.label} nor in the working tree`,
      {
        hint: `See what differs: orch diff ${seqOf(target)}`,
      },
    );
  }
}

/** The files a restore created. They may be ignored by now, and so in no tree. */
async function listWritten(
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
 * Finds the untracked files that the ignore rules of the target match, or those from before the last restore. A restore
 * may remove ignore rules, and files that lost their rule that way must not be deleted.
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
    if (rules === undefined || !changesIgnoreRules(await diffTrees(ports.repository, tree, rules))) continue;
    for (const path of await listIgnoredBy(ports, rules, paths)) ignored.set(path, reason);
  }
  return ignored;
}

/** What else the user should know before files change. */
export type RestoreSetting = {
  readonly head: { readonly commit: Oid | null; readonly branch: string | null };
  /** Where HEAD was when the checkpoint was saved; null for an undo. */
  readonly earlier: {
    readonly commit: Oid | null;
    readonly branch: string | null;
    /** Commits HEAD has gained and lost since; null if unknown. */
    readonly moved: { readonly gained: number; readonly lost: number } | null;
  } | null;
  /** The sessions that are running in this worktree. */
  readonly workers: readonly { readonly name: string; readonly pid: number }[];
  /** A merge or rebase in progress. */
  readonly operation: string | null;
};

/** Reads the state of HEAD and who else is working here; `own` is the session that asks. */
export async function readSetting(
  ports: RestorePorts,
  { source }: RestoreTarget,
  own: SessionId | null,
): Promise<RestoreSetting> {
  const { repository, git, home } = ports;
  const head = await git.readHead();
  const here = listLive(home).filter(
    (live) => live.worktree === repository.worktree && live.session !== own && checkLive(live) === 'alive',
  );
  return {
    head: { ...head, branch: head.branch && formatPath(head.branch) },
    earlier: source.kind === 'undo' ? null : await compareHead(ports, source.document, head.commit),
    workers: here.map(({ command, kind, epic, holder }) => ({
      name:
        command?.[0] === undefined
          ? kind === 'hooked'
            ? 'an agent'
            : `a session on ${epic}`
          : basename(command[0]),
      pid: holder.pid,
    })),
    operation: findOperation(repository),
  };
}

async function compareHead(
  { repository }: RestorePorts,
  { gitCommit: commit, branch }: { readonly gitCommit: Oid | null; readonly branch: string | null },
  head: Oid | null,
) {
  const apart = commit === null || head === null ? null : await countDivergence(repository, commit, head);
  return {
    commit,
    branch: branch && formatPath(branch),
    moved: apart && { gained: apart.other, lost: apart.one },
  };
}

/** Turns paths typed in a folder into paths from the top of the working tree, as latin1 bytes. */
export function resolvePaths(
  { worktree }: Repository,
  cwd: string | undefined,
  paths: readonly string[],
): string[] {
  const folder = cwd ?? worktree ?? '';
  const top = worktree ?? folder;
  return paths.map((path) => {
    if (path === '')
      throw new OrchError('USAGE', 'a path is empty', { hint: 'To restore all files, leave out the paths.' });
    const inside = relative(top, resolve(realPath(folder), path));
    if (isOutside(inside)) {
      throw new OrchError('USAGE', `${path} is outside the working tree`, {
        hint: `Name files below ${top}.`,
      });
    }
    return Buffer.from(inside.replaceAll(sep, '/')).toString('latin1');
  });
}

/** Does a relative path lead out of the folder it starts from? */
export function isOutside(path: string): boolean {
  return path === '..' || path.startsWith(`..${sep}`) || resolve(path) === path;
}

/** Turns paths in latin1 bytes into sorted text. */
export function showPaths(paths: Iterable<string>): string[] {
  return [...paths].map(formatPath).sort();
}
