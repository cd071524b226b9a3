import { type Change, listChanges } from '../git/changes.ts';
import type { Repository } from '../git/repository.ts';
import { readWorkTree } from '../git/snapshot.ts';
import type { WorkTreePorts } from '../git/work-tree-apply.ts';
import { lookUp } from '../keyed.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Fact } from '../state/facts.ts';
import type { Oid, SessionId } from '../types.ts';
import type { BaselinePorts } from './baseline.ts';
import type { EpicView } from './context.ts';
import { fileFact } from './facts.ts';
import { readLive } from './live.ts';
import { orchestrationFile } from './orchestration.ts';
import type { Target } from './record.ts';
import type { SessionSettings } from './settings.ts';

type Ports = BaselinePorts & {
  readonly repository: Repository;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** What changed, as far as it can be compared, and what cannot be: it is left out of snapshots. */
export type SessionChanges = {
  readonly changes: readonly Change[];
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
};

/** What git says changed since a session began; since the last commit, where no session runs. */
export async function listSessionChanges(
  ports: Ports & WorkTreePorts,
  session: SessionId | null,
): Promise<SessionChanges> {
  const base = session && readLive(ports.home, session)?.base;
  const from = base ?? (await ports.git.readHead()).commit;
  const { maxFileBytes } = await ports.readSettings();
  const { tree, leftOut } = await readWorkTree(ports, maxFileBytes);
  const changes = from === null ? [] : await listChanges(ports.repository, from, tree);
  const named = leftOut.map(async ({ path, reason }) => ({ path: await ports.redact(path), reason }));
  return { changes, leftOut: await Promise.all(named) };
}

/** Of more files than this the snapshot tells. */
const mostTold = 100;

/**
 * Makes the function that finds what changed since it was last asked, or since the session's first snapshot, and nobody
 * told: shells, say, and programs that no hook sees. Without a snapshot to begin with nothing is told at first: what
 * stood there before is nobody's work.
 */
export function makeUntold(
  ports: Ports,
  { session, settings }: Target,
  first: Oid | null,
): (view: EpicView) => Promise<Fact[]> {
  let from = first;
  let since = 0;
  /** What was told here, as it then stands in the state. */
  let ours = new Map<string, string>();
  return async ({ state }) => {
    const now = settings.snapshot ? await ports.readTree(settings.maxFileBytes) : null;
    if (now === null || now === from) return [];
    const changes = from === null ? [] : await listChanges(ports.repository, from, now);
    const isTold = (path: string) => {
      const known = lookUp(state.files, path);
      if (known?.value.session !== session || known.stamp[0] <= since) return false;
      return ours.get(path) !== canonicalJson(known.value);
    };
    // What orch itself writes into the ORCHESTRATION.yaml is nobody's work.
    const untold = changes.filter(({ path }) => path !== orchestrationFile && !isTold(path));
    const facts = untold.slice(0, mostTold).map(({ path, ...change }) => fileFact(path, change));
    [from, since] = [now, state.clock];
    ours = new Map(
      facts.map(({ kind: _, path, ...change }) => [path, canonicalJson({ ...change, session })]),
    );
    return facts;
  };
}
