import { type Change, listChanges } from '../git/changes.ts';
import type { Repository } from '../git/repository.ts';
import type { Fact } from '../state/facts.ts';
import type { SessionId } from '../types.ts';
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

/** What git says changed since a session began; since the last commit, where no session runs. */
export async function listSessionChanges(ports: Ports, session: SessionId | null): Promise<Change[]> {
  const base = session && readLive(ports.home, session)?.base;
  const from = base ?? (await ports.git.readHead()).commit;
  const { maxFileBytes } = await ports.readSettings();
  const now = await ports.readTree(maxFileBytes);
  return from === null || now === null ? [] : listChanges(ports.repository, from, now);
}

/** Of more files than this the snapshot tells. */
const mostTold = 100;

/**
 * What changed since a session's newest checkpoint and nobody told: shells, say, and programs that no hook sees. Its
 * lines are those since then, so that what is told twice is not counted twice.
 */
export async function findUntold(
  ports: Ports,
  { session, settings }: Target,
  { saved, pending }: EpicView,
): Promise<Fact[]> {
  const from = saved?.document.sessionId === session ? saved.document.snapshot : null;
  const now = from === null ? null : await ports.readTree(settings.maxFileBytes);
  if (from === null || now === null) return [];
  const told = pending.flatMap(({ fact }) => (fact.kind === 'file' ? [fact.path] : []));
  // What orch itself writes into it is nobody's work.
  const known = new Set([...told, orchestrationFile]);
  const changes = (await listChanges(ports.repository, from, now)).filter(({ path }) => !known.has(path));
  return changes.slice(0, mostTold).map(({ path, ...change }) => fileFact(path, change));
}
