import { findWork } from '../checkpoint/names.ts';
import { hasCode } from '../errors.ts';
import type { BaselinePorts } from '../gates/run-baseline.ts';
import { readCommit } from '../git/objects/read-objects.ts';
import type { Repository } from '../git/repository.ts';
import type { WorkTreePorts } from '../git/snapshot/secret-files.ts';
import { readWorkTree } from '../git/snapshot/snapshot.ts';
import { type Change, listFileChanges } from '../git/worktree/code-changes.ts';
import { diffTrees } from '../git/worktree/tree-diff.ts';
import { readLive } from '../journal/live.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import { lookUp } from '../keyed.ts';
import { dropMarkChange, orchestrationFile } from '../orchestration-file/orchestration-file.ts';
import { fileFact } from '../record/fact-builders.ts';
import type { RunningSession } from '../record/ports.ts';
import type { EpicView } from '../record/view.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Fact } from '../state/facts.ts';
import type { EpicId, Oid, SessionId } from '../types.ts';
import { count } from '../units.ts';

type ChangesPorts = BaselinePorts & {
  readonly repository: Repository;
  readonly readSettings: () => Promise<SessionSettings>;
};

export type SessionChanges = {
  readonly changes: readonly Change[];
  /** Files that snapshots leave out, so they cannot be compared. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
};

/** Lists what changed since a session began, or since the last commit if no session is running. */
export async function listSessionChanges(
  ports: ChangesPorts & WorkTreePorts,
  session: SessionId | null,
): Promise<SessionChanges> {
  const base = session && readLive(ports.home, session)?.base;
  const from = base ?? (await ports.git.readHead()).commit;
  const { maxFileBytes } = await ports.readSettings();
  const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
  const changes = from === null ? [] : await listFileChanges(ports.repository, from, tree);
  const named = leftOut.map(async ({ path, reason }) => ({ path: await ports.redact(path), reason }));
  return { changes, leftOut: await Promise.all(named) };
}

/** Beyond this many files, the snapshot is the record. */
const mostRecorded = 100;

/**
 * Makes a function that returns the changed files nothing has recorded yet, since its last call or since the session's
 * first snapshot: the work of shells and other programs that no hook sees. Without a first snapshot, the first call
 * returns nothing, because the files from before the session are not its work.
 */
export function makeChangeReader(
  ports: ChangesPorts,
  { session, settings }: RunningSession,
  first: Oid | null,
): (view: EpicView) => Promise<Fact[]> {
  let from = first;
  let since = 0;
  /** What the last call returned, as it appears in the state. */
  let ours = new Map<string, string>();
  return async ({ state }) => {
    const now = settings.snapshot ? await ports.readTree(settings.maxFileBytes) : null;
    if (now === null || now === from) return [];
    const changes = from === null ? [] : await listFileChanges(ports.repository, from, now);
    const isRecorded = (path: string) => {
      const known = lookUp(state.files, path);
      if (known?.value.session !== session || known.stamp[0] <= since) return false;
      return ours.get(path) !== canonicalJson(known.value);
    };
    // orch writes into ORCHESTRATION.yaml itself.
    const unrecorded = changes.filter(({ path }) => path !== orchestrationFile && !isRecorded(path));
    const facts = unrecorded.slice(0, mostRecorded).map(({ path, ...change }) => fileFact(path, change));
    [from, since] = [now, state.clock];
    ours = new Map(
      facts.map(({ kind: _, path, ...change }) => [path, canonicalJson({ ...change, session })]),
    );
    return facts;
  };
}

/** Describes, after a crash, how the files on disk differ from the newest saved code; null if they do not, or it is not here. */
export async function describeDisk(ports: ChangesPorts, epic: EpicId): Promise<string | null> {
  const checkpoint = (await findWork(ports, epic, { session: null }))?.checkpoint;
  if (!checkpoint?.snapshot) return null;
  const now = await ports.readTree((await ports.readSettings()).maxFileBytes);
  if (now === null) return null;
  try {
    const { tree } = await readCommit(ports.git, checkpoint.snapshot);
    const { length } = await dropMarkChange(ports, await diffTrees(ports.repository, tree, now));
    if (length === 0) return null;
    const files = `${count(length, 'file')} on disk ${length === 1 ? 'differs' : 'differ'}`;
    return `${files} from ckpt ${checkpoint.seq}, the last one with code: orch diff ${checkpoint.seq} -e ${epic}`;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // its snapshot is not in this clone
  }
}
