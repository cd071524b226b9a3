import { type Change, listChanges } from '../git/changes.ts';
import type { Repository } from '../git/repository.ts';
import type { SessionId } from '../types.ts';
import type { BaselinePorts } from './baseline.ts';
import { readLive } from './live.ts';
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
