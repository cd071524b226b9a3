import { bringSnapshot } from '../checkpoint/arrive.ts';
import type { Checkpoint } from '../checkpoint/list.ts';
import type { SyncPorts } from '../checkpoint/sync-facts.ts';
import { readLive, writeLive } from './live.ts';
import type { Target } from './record.ts';
import { type Restored, restore } from './restore.ts';
import { type Proposal, proposeRestore } from './restore-plan.ts';
import { findCode, type RestorePorts } from './restore-target.ts';

/** What it takes to make the files here those of a checkpoint that a session goes on from; fetched where it is not here. */
export async function proposeCode(
  ports: RestorePorts & SyncPorts,
  { id, epicId, sessionId, snapshot }: Checkpoint,
  remote: string,
): Promise<Proposal> {
  if (snapshot !== null)
    await bringSnapshot(ports, { epic: epicId, session: sessionId, commit: snapshot }, remote);
  return proposeRestore(ports, await findCode(ports, epicId, id));
}

/** Restores it. The session's own work is what changes from there on. */
export async function startFromCode(
  ports: RestorePorts,
  { session }: Target,
  { target }: Proposal,
  base: Checkpoint['snapshot'],
): Promise<Restored> {
  const restored = await restore(ports, target);
  const live = readLive(ports.home, session);
  if (live) await writeLive(ports.disk, ports.home, ports.random, { ...live, base });
  return restored;
}
