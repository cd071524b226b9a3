import { type ContextWindow, measureContext } from '../cost/context.ts';
import type { StatusCall } from '../integration/status-call.ts';
import { lookUp } from '../keyed.ts';
import { statIfThere } from '../system/files.ts';
import type { Micros } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import { type AgentLink, findLink } from './agent-link.ts';
import { knownContext } from './agent-reading.ts';
import { type EpicView, readView } from './context.ts';
import { journalFolder, journalPath } from './journal.ts';
import { readLive } from './live.ts';
import { record } from './record.ts';

/** What a status line can tell of the session an agent works in. */
export type AgentStatus = {
  readonly link: AgentLink;
  readonly view: EpicView;
  /** Null until something has happened in it. */
  readonly number: number | null;
  readonly context: ContextWindow | null;
  /** What the agent says to have spent beyond what is counted: its files lag behind. */
  readonly uncounted: Micros;
};

/** Looks up the session an agent works in; null where it has none. */
export async function readAgentStatus(ports: AgentPorts, call: StatusCall): Promise<AgentStatus | null> {
  const link = findLink(ports.home, call.agentSession);
  if (link === null) return null;
  const view = await readView(ports, link.epic);
  const known = knownContext(view.state, link);
  // A wrong config is told of by the hooks; here it would be told many times a minute.
  const configured = await ports.readConfig().then(
    (config) => config.context.window,
    () => 'auto' as const,
  );
  const context = call.context
    ? measureContext(call.context, call.agentSession, configured, known)
    : known?.agentSession === call.agentSession
      ? known
      : null;
  const number = lookUp(view.state.sessions, link.session)?.value.number ?? null;
  return { link, view, number, context, uncounted: findUncounted(link, call) };
}

function findUncounted({ figure }: AgentLink, { cost, agentSession }: StatusCall): Micros {
  return cost !== null && figure?.agentSession === agentSession ? Math.max(0, cost - figure.last) : 0;
}

/** Does the agent say of its cost what it has not said before? */
export function tellsCost({ link: { figure } }: AgentStatus, { cost, agentSession }: StatusCall): boolean {
  return cost !== null && (figure?.agentSession !== agentSession || figure.last !== cost);
}

/**
 * Records what the agent told of its window, where that is another tier or size than is known: a status line is made
 * many times a minute.
 */
export async function recordContext(ports: AgentPorts, { link, view, context }: AgentStatus): Promise<void> {
  const { session, epic } = link;
  const known = knownContext(view.state, link);
  const isKnown = known !== null && known.tier === context?.tier && known.window === context.window;
  const hasBegun = statIfThere(journalPath(journalFolder(ports.home), session)) !== null;
  if (context === null || isKnown || !hasBegun) return;
  const settings = readLive(ports.home, session)?.settings ?? (await ports.readSettings());
  const fact = { kind: 'current_set', key: 'contextWindow', value: context } as const;
  await record(ports, { epic, session, settings }, [fact]);
}
