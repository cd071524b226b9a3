import type { StatusCall } from '../agents/calls/status-call.ts';
import { nextFigure } from '../cost/live-figure.ts';
import { hasBegun } from '../record/begin.ts';
import { record } from '../record/record.ts';
import { readView } from '../record/view.ts';
import { type AgentLink, readLink, writeLink } from '../session/agent/agent-link.ts';
import { meterSession, readMeters } from '../session/agent/meter-session.ts';
import { loadRunningSession } from '../session/find-session.ts';
import type { AgentPorts } from './agent-ports.ts';

/**
 * Keeps the cost an agent reports in its status line, and records what follows from it for the meters: transcripts miss
 * the cost of a compaction and of models without a price. A file of its own, as most status lines need none of it.
 */
export async function recordReportedCost(
  ports: AgentPorts,
  link: AgentLink,
  call: StatusCall,
): Promise<void> {
  if (call.cost === null) return;
  const { state } = await readView(ports, link.epic);
  const { counted, reported } = await meterSession(ports, link, state, link.transcripts);
  const figure = nextFigure(link.figure ?? null, call.agentSession, call.cost, counted, reported);
  const updated = { ...(readLink(ports.home, link.session) ?? link), figure };
  await writeLink(ports, updated);
  if (!hasBegun(ports, link.session)) return;
  const used = await readMeters(ports, updated, state);
  if (used.length > 0) await record(ports, await loadRunningSession(ports, updated), used);
}
