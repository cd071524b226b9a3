import { readRecentSteps } from '../agents/transcript/recent-steps.ts';
import type { Config } from '../config/defaults.ts';
import { readLive } from '../journal/live.ts';
import type { SessionPorts } from '../record/ports.ts';
import type { AgentLink } from '../session/agent/agent-link.ts';
import { statIfThere } from '../system/disk.ts';
import { forgetHealth, readHealth, writeHealth } from './health-file.ts';
import { findRepetition } from './repetition.ts';
import { describeNudge } from './witness.ts';
import { isWitnessOn } from './witness-switch.ts';

/** What an agent that repeats itself is told, and its user. */
export type HookedNudge = { readonly agent: string; readonly user: string };

type Ports = Pick<SessionPorts, 'disk' | 'home' | 'random' | 'clock' | 'redact'> & {
  readonly readConfig: () => Promise<Pick<Config, 'witness'>>;
};

/**
 * Looks at an agent that no supervisor watches when one of its tool calls is reported. Who repeats themselves is told once;
 * there is nothing that could see them be silent.
 */
export async function nudgeHooked(
  ports: Ports,
  { session, transcripts }: AgentLink,
): Promise<HookedNudge | null> {
  const { home } = ports;
  if (readLive(home, session)?.kind !== 'hooked' || !isWitnessOn(home)) return null;
  const { witness: policy } = await ports.readConfig();
  if (!policy.actions.includes('nudge')) return null;
  const path = transcripts.findLast((each) => statIfThere(each) !== null);
  const repetition = path === undefined ? null : findRepetition(readRecentSteps(path).done);
  const isLooping = repetition !== null && repetition.times >= policy.repeats;
  const known = readHealth(home, session);
  if (!isLooping) {
    if (known !== null) forgetHealth(ports.disk, home, session);
    return null;
  }
  if (known?.health === 'looping') return null;
  const now = ports.clock.now();
  const why = await ports.redact(repetition.words);
  await writeHealth(ports, session, { health: 'looping', why, since: now, action: 'nudge', actedAt: now });
  return { agent: describeNudge('looping', why), user: `orch: the agent repeats itself: ${why}.` };
}
