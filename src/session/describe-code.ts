import type { CodeUpdate } from '../checkpoint/compose.ts';
import type { Head } from '../git/engine.ts';
import { lookUp } from '../keyed.ts';
import { type CodeChanges, readCurrent } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { cutBytes } from '../text.ts';
import type { Oid } from '../types.ts';
import type { KeptTree } from './keep-tree.ts';
import { readLive } from './live.ts';
import type { SessionPorts, Target } from './pump-types.ts';

/** Of so many files the paths are kept, and so much of each path. */
const mostNamed = 40;
const longestPath = 300;

/**
 * What a checkpoint says of the code: how it differs from where the epic began, and what was committed since the last
 * one. Null where neither HEAD nor the files have changed since. If git cannot tell, the checkpoint does without.
 */
export async function describeCode(
  ports: SessionPorts,
  { session }: Target,
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
      // Another clone may have begun the epic at a commit that is not here.
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
    ports.report(`git could not tell what changed: ${error instanceof Error ? error.message : error}`);
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
