import { spentIn } from '../cost/money.ts';
import { countUnseen } from '../cost/reach.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { knownContext } from './agent-reading.ts';
import { readWaiting } from './agent-waiting.ts';
import { targetOf } from './agent-work.ts';
import { hasUnsaid, letPass, wakeAgent } from './calm-files.ts';
import { readView } from './context.ts';
import { listLive } from './live.ts';
import { metersOf } from './meters.ts';

/** Decides, after a look at an agent, how many of its next calls need none. */
export async function settleCalm(ports: AgentPorts, link: AgentLink | null, name: string): Promise<void> {
  const calls = link ? await countCalls(ports, link, name) : 0;
  if (link === null || calls === 0) return wakeAgent(ports, name);
  await letPass(ports, name, link.epic, calls);
  // Whoever sets a budget records it, then wakes the agents; what was recorded before the files were there is seen now.
  if ((await countCalls(ports, link, name)) < calls) wakeAgent(ports, name);
}

/** How many calls may pass: a tool makes two, one before and one after, and each request has at least one tool. */
async function countCalls(ports: AgentPorts, link: AgentLink, name: string): Promise<number> {
  const { home } = ports;
  const { epic, session, agent } = link;
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  // A budget that the config gives a new epic is not set until its session begins.
  const isAtWork = status !== undefined && !hasEnded(status);
  // An answer to the agent is seen at its next call; that it waits for a prompt keeps none of its helpers from working.
  const isAsked = (readWaiting(home, session)?.for ?? 'input') !== 'input';
  const isToTell = isAsked || hasUnsaid(home, name);
  if (!isAtWork || isToTell || (await mayFillUp(ports, link, state))) return 0;
  const spending = {
    spent: spentIn(state.ledger),
    limit: budgetOf(state),
    tokens: knownContext(state, link)?.tokens ?? 0,
    models: Object.keys(metersOf(state, session)),
    agents: Math.max(1, listLive(home).filter((live) => live.epic === epic).length),
  };
  return 2 * countUnseen(spending, (await ports.readConfig()).prices, agent);
}

/** Could its context window fill up to where the user wants it stopped? */
async function mayFillUp(ports: AgentPorts, link: AgentLink, state: State): Promise<boolean> {
  const { critical, emergency } = (await targetOf(ports, link)).settings.policy.context ?? {};
  if (critical !== 'stop' && emergency !== 'stop') return false;
  return (knownContext(state, link)?.tier ?? 'NOMINAL') !== 'NOMINAL';
}
