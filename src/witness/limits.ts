import { join } from 'node:path';
import { orNull, time, withFields } from '../checks.ts';
import { nameFile } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import { type Disk, makeFolder, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import { withLock } from '../system/lock.ts';
import type { Millis } from '../types.ts';

/*
 * A circuit breaker for providers' limits: what one agent of a convoy learns, the others need not try. Until the limit
 * resets, none of that provider's agents starts; then one after the other, and if one is refused again, the rest still wait.
 */

export type KnownLimit = {
  readonly until: Millis;
  /** When an agent last continued after it. */
  readonly resumedAt: Millis | null;
};

/** Long enough for an agent to be refused again. */
const spacing: Millis = 10_000;
/** Who starts later than this has nothing to do with the limit any more. */
const over: Millis = 30 * 60_000;

/** Decides when an agent may start: null for now, else when to ask again. */
export function decideTurn(limit: KnownLimit | null, now: Millis): Millis | null {
  if (limit === null || now > limit.until + over) return null;
  if (now < limit.until) return limit.until;
  const { resumedAt } = limit;
  return resumedAt !== null && now < resumedAt + spacing ? resumedAt + spacing : null;
}

type Ports = WritePorts & {
  readonly home: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
};

const isKnownLimit = withFields<KnownLimit>({ until: time, resumedAt: orNull(time) });
const pathOf = (home: string, agent: string) => join(home, 'limits', nameFile(agent, '.json'));

/** Notes that an agent was refused until some time. */
export async function noteProviderLimit(ports: Ports, agent: string, until: Millis): Promise<void> {
  await change(ports, agent, (known) => ({ until: Math.max(until, known?.until ?? 0), resumedAt: null }));
}

/** Takes a turn to start an agent: null if it may start now, else when to ask again. */
export async function takeTurn(ports: Ports, agent: string): Promise<Millis | null> {
  if (readJson(pathOf(ports.home, agent), isKnownLimit) === null) return null;
  let at: Millis | null = null;
  await change(ports, agent, (known) => {
    const now = ports.clock.now();
    at = decideTurn(known, now);
    return known !== null && at === null ? { ...known, resumedAt: now } : null;
  });
  return at;
}

async function change(
  ports: Ports,
  agent: string,
  decide: (known: KnownLimit | null) => KnownLimit | null,
): Promise<void> {
  const path = pathOf(ports.home, agent);
  await makeFolder(ports.disk, join(ports.home, 'limits'));
  await withLock(ports, `${pathOf(ports.home, agent)}-lock`, async () => {
    const next = decide(readJson(path, isKnownLimit));
    if (next !== null) await writeJson(ports, path, next);
  });
}
