import { countUncheckedRequests } from '../cost/forecast.ts';
import { spentIn } from '../cost/money.ts';
import { listLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { checkNextCall, hasKeptMessage, skipCallChecks } from '../record/call-checks.ts';
import { readView } from '../record/view.ts';
import type { AgentLink } from '../session/agent/agent-link.ts';
import { readWaiting } from '../session/agent/agent-waiting.ts';
import { metersOf } from '../session/agent/meter-session.ts';
import { loadRunningSession } from '../session/find-session.ts';
import { budgetOf } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { AgentPorts } from './agent-ports.ts';
import { knownContext } from './read-agent.ts';

/** Decides, after an agent was checked, how many of its next tool calls can run unchecked. */
export async function decideSkippedChecks(
  ports: AgentPorts,
  link: AgentLink | null,
  name: string,
): Promise<void> {
  const calls = link ? await countSkippable(ports, link, name) : 0;
  if (link === null || calls === 0) return checkNextCall(ports, name);
  await skipCallChecks(ports, name, link.epic, calls);
  // A budget that was recorded before these files existed found none to delete, so count once more.
  if ((await countSkippable(ports, link, name)) < calls) checkNextCall(ports, name);
}

/** Counts calls, not requests: a tool makes two, one before and one after, and a request has at least one tool. */
async function countSkippable(ports: AgentPorts, link: AgentLink, name: string): Promise<number> {
  const { home } = ports;
  const { epic, session, agent } = link;
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  // Before the session begins, its epic has no budget yet: the config's is set with the first fact.
  const isAtWork = status !== undefined && !hasEnded(status);
  // The next call shows that a question was answered. Waiting for a prompt is different: helpers work meanwhile.
  const isAsking = (readWaiting(home, session)?.for ?? 'input') !== 'input';
  if (!isAtWork || isAsking || hasKeptMessage(home, name) || (await mayFillUp(ports, link, state))) return 0;
  const spending = {
    spent: spentIn(state.ledger),
    limit: budgetOf(state),
    tokens: knownContext(state, link)?.tokens ?? 0,
    models: Object.keys(metersOf(state, session)),
    agents: Math.max(1, listLive(home).filter((live) => live.epic === epic).length),
  };
  return 2 * countUncheckedRequests(spending, (await ports.readConfig()).prices, agent);
}

/** Could the context window reach the level at which the user wants the agent to stop? */
async function mayFillUp(ports: AgentPorts, link: AgentLink, state: State): Promise<boolean> {
  const { critical, emergency } = (await loadRunningSession(ports, link)).settings.policy.context ?? {};
  if (critical !== 'stop' && emergency !== 'stop') return false;
  return (knownContext(state, link)?.tier ?? 'NOMINAL') !== 'NOMINAL';
}
