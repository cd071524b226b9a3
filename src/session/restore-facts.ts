import { basename } from 'node:path';
import { countApart, findOperation } from '../git/surroundings.ts';
import type { Oid, SessionId } from '../types.ts';
import { checkLive, listLive } from './live.ts';
import type { RestorePorts, RestoreTarget } from './restore-target.ts';

/** What else somebody should know before files change under them. */
export type RestoreSetting = {
  readonly head: { readonly commit: Oid | null; readonly branch: string | null };
  /** Where HEAD was when the checkpoint was saved; null for an undo. */
  readonly earlier: {
    readonly commit: Oid | null;
    readonly branch: string | null;
    /** Commits HEAD has gained and lost since; null where that cannot be told. */
    readonly moved: { readonly gained: number; readonly lost: number } | null;
  } | null;
  /** Who works in this worktree. */
  readonly workers: readonly { readonly name: string; readonly pid: number }[];
  /** A merge or rebase that is under way. */
  readonly operation: string | null;
};

/** Looks around; `own` is the session the question comes from. */
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
    head,
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
  const apart = commit === null || head === null ? null : await countApart(repository, commit, head);
  return { commit, branch, moved: apart && { gained: apart.other, lost: apart.one } };
}
