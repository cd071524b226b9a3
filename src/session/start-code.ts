import { bringSnapshot } from '../checkpoint/arrive.ts';
import type { Checkpoint } from '../checkpoint/list.ts';
import type { SyncPorts } from '../checkpoint/sync-facts.ts';
import type { Config } from '../config.ts';
import { readLive, writeLive } from './live.ts';
import type { Target } from './record.ts';
import { type Restored, restore } from './restore.ts';
import { type Proposal, proposeRestore } from './restore-plan.ts';
import { findCode, type RestorePorts } from './restore-target.ts';

type CodePorts = RestorePorts &
  Omit<SyncPorts, 'readConfig'> & { readonly readConfig: () => Promise<Pick<Config, 'sync'>> };

/** Is a checkpoint's code here? Where it is not, it is fetched if the remote has it. */
export async function bringCode(
  ports: CodePorts,
  { epicId: epic, sessionId: session, snapshot: commit }: Checkpoint,
): Promise<boolean> {
  if (commit === null) return false;
  return bringSnapshot(ports, { epic, session, commit }, (await ports.readConfig()).sync.remote);
}

/** What it takes to make the files here those of a checkpoint that a session goes on from. */
export async function proposeCode(ports: CodePorts, checkpoint: Checkpoint): Promise<Proposal> {
  await bringCode(ports, checkpoint);
  return proposeRestore(ports, await findCode(ports, checkpoint.epicId, checkpoint.id));
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
