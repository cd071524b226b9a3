import { join } from 'node:path';
import { oneOf, orNull, text, time, withFields } from '../checks.ts';
import { type Config, witnessActions } from '../config/defaults.ts';
import { nameFile } from '../ids.ts';
import { type Disk, makeFolder, removeIfThere, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import type { Millis, SessionId } from '../types.ts';
import { type Health, healths } from './judge.ts';

/**
 * How an agent was when it was looked at last. It concerns a process on this machine, so it is kept beside the epics:
 * losing it loses nothing.
 */
export type KnownHealth = {
  readonly health: Health;
  /** The evidence, in words. */
  readonly why: string;
  /** Since when it is like this. */
  readonly since: Millis;
  /** The last thing that was done about it. */
  readonly action: Config['witness']['actions'][number] | null;
  readonly actedAt: Millis | null;
};

const isKnownHealth = withFields<KnownHealth>({
  health: oneOf<Health>(...healths),
  why: text,
  since: time,
  action: orNull(oneOf(...witnessActions)),
  actedAt: orNull(time),
});

function pathOf(home: string, session: SessionId): string {
  return join(home, 'witness', nameFile(session, '.json'));
}

export function readHealth(home: string, session: SessionId): KnownHealth | null {
  return readJson(pathOf(home, session), isKnownHealth);
}

export async function writeHealth(
  ports: WritePorts & { readonly home: string },
  session: SessionId,
  known: KnownHealth,
): Promise<void> {
  await makeFolder(ports.disk, join(ports.home, 'witness'));
  await writeJson(ports, pathOf(ports.home, session), known);
}

export function forgetHealth(disk: Disk, home: string, session: SessionId): void {
  removeIfThere(disk, pathOf(home, session));
}
