import type { CodeUpdate } from '../checkpoint/compose.ts';
import { messageOf } from '../errors.ts';
import type { Head } from '../git/engine.ts';
import { readLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { treeWithoutMark } from '../orchestration-file/orchestration-file.ts';
import { type CodeChanges, readCurrent } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { cleanLine, cutBytes } from '../text.ts';
import type { Oid, SessionId } from '../types.ts';
import type { SessionPorts, Target, TreeSnapshot } from './ports.ts';

/* The code of a checkpoint: a snapshot of the working tree, and how it differs from where the epic began. */

/** The snapshot, or why there is none; neither if the settings disable snapshots. */
export type KeptTree = {
  readonly snapshot: TreeSnapshot | null;
  readonly snapshotFailed: string | null;
};

/** Saves the working tree, outside the epic's lock. If that fails, the checkpoint is made without it and says why. */
export async function keepTree(ports: SessionPorts, target: Target): Promise<KeptTree> {
  const { epic, session, settings } = target;
  if (!settings.snapshot || ports.takeSnapshot === null) return { snapshot: null, snapshotFailed: null };
  try {
    const { maxFileBytes } = settings;
    const { before, ...taken } = await ports.takeSnapshot({
      epic,
      session,
      at: ports.clock.now(),
      maxFileBytes,
    });
    const tree = await treeWithoutMark(ports, taken.tree);
    const isNew = taken.isNew && (before === null || (await treeWithoutMark(ports, before)) !== tree);
    return { snapshot: { ...taken, tree, isNew }, snapshotFailed: null };
  } catch (error) {
    const problem = await ports.redact(error instanceof Error ? error.message : String(error));
    ports.report(`the files could not be saved: ${problem}`);
    return { snapshot: null, snapshotFailed: cleanLine(problem, 500) };
  }
}

/** How many changed files a checkpoint lists, and the longest path among them. */
const mostNamed = 40;
const longestPath = 300;

/**
 * Describes the code for a checkpoint: how it differs from where the epic began, and the commits since the last one.
 * Null if neither HEAD nor the files have changed since, or if git cannot tell.
 */
export async function describeCode(
  ports: SessionPorts,
  session: SessionId,
  state: State,
  { snapshot }: KeptTree,
  { commit: head }: Head,
): Promise<CodeUpdate | null> {
  const known = readCurrent(state, 'changes');
  if (snapshot === null || ports.readCode === null) return null;
  if (known?.tree === snapshot.tree && known.head === head) return null;
  const began = readLive(ports.home, session)?.base ?? head;
  const startedAt = Object.values(state.sessions).map(({ value }) => value.startedAt);
  const request = { head, tree: snapshot.tree, after: Math.min(ports.clock.now(), ...startedAt) };
  const since = known === null ? began : known.head;
  const first = readCurrent(state, 'base')?.commit ?? began;
  const { readCode } = ports;
  try {
    const { base, files, commits } = await readCode({ ...request, base: first, since })
      .then((found) => ({ base: first, ...found }))
      // Another clone may have started the epic at a commit that is not here.
      .catch(async () => ({ base: began, ...(await readCode({ ...request, base: began, since: began })) }));
    const left = new Set(snapshot.leftOut.map(({ path }) => path));
    const said = files.filter(({ path }) => !left.has(path));
    return {
      base,
      changes: await summarize(ports, snapshot.tree, head, said),
      commits: await Promise.all(
        commits
          .filter(({ oid }) => !lookUp(state.commits, oid))
          .map(async ({ oid, subject }) => ({ oid, subject: cutBytes(await ports.redact(subject), 300) })),
      ),
    };
  } catch (error) {
    ports.report(`git could not determine what changed: ${messageOf(error)}`);
    return null;
  }
}

type Files = Awaited<ReturnType<NonNullable<SessionPorts['readCode']>>>['files'];

async function summarize(
  { redact }: SessionPorts,
  tree: Oid,
  head: Oid | null,
  files: Files,
): Promise<CodeChanges> {
  const size = ({ added, removed }: Files[number]) => (added ?? 0) + (removed ?? 0);
  const sum = (part: 'added' | 'removed') =>
    files.some((file) => file[part] !== null)
      ? files.reduce((total, file) => total + (file[part] ?? 0), 0)
      : null;
  const open = files.filter(({ state }) => state !== 'committed');
  const committed = files.filter(({ state }) => state === 'committed');
  const bySize = (some: Files) => some.toSorted((a, b) => size(b) - size(a) || (a.path < b.path ? -1 : 1));
  const named = [...bySize(open), ...bySize(committed)]
    .filter(({ path }) => path.length <= longestPath)
    .slice(0, mostNamed);
  return {
    tree,
    head,
    files: files.length,
    uncommitted: open.length,
    added: sum('added'),
    removed: sum('removed'),
    named: await Promise.all(named.map(async (file) => ({ ...file, path: await redact(file.path) }))),
  };
}
