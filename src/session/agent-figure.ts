import { nextFigure } from '../cost/figure.ts';
import type { StatusCall } from '../integration/status-call.ts';
import { hasBegun } from './agent-begin.ts';
import type { AgentPorts } from './agent-call.ts';
import { readLink, writeLink } from './agent-link.ts';
import { meterSession, readMeters } from './agent-meter.ts';
import type { AgentStatus } from './agent-status.ts';
import { targetOf } from './agent-work.ts';
import { readView } from './context.ts';
import { record } from './record.ts';

/**
 * Keeps what the agent says that it has cost, where that is news, and records what follows for its meters: a compaction,
 * a model without a price.
 */
export async function recordFigure(
  ports: AgentPorts,
  { link }: AgentStatus,
  call: StatusCall,
): Promise<void> {
  const { session, epic } = link;
  if (call.cost === null) return;
  const { state } = await readView(ports, epic);
  const { counted, told } = await meterSession(ports, link, state, link.transcripts);
  const figure = nextFigure(link.figure ?? null, call.agentSession, call.cost, counted, told);
  const now = { ...(readLink(ports.home, session) ?? link), figure };
  await writeLink(ports.disk, ports.home, ports.random, now);
  if (!hasBegun(ports, session)) return;
  const used = await readMeters(ports, now, state);
  if (used.length > 0) await record(ports, await targetOf(ports, now), used);
}
