import { spentIn } from '../cost/money.ts';
import { isWithinReach } from '../cost/reach.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { Millis } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { knownContext } from './agent-reading.ts';
import { readWaiting } from './agent-waiting.ts';
import { targetOf } from './agent-work.ts';
import { hasUnsaid, readSeen, wakeAgent, writeCalm, writeSeen } from './calm-files.ts';
import { readView } from './context.ts';
import { metersOf } from './meters.ts';

/** In doubt a call is looked at: nothing is taken for granted longer than this. */
const farFor: Millis = 60_000;
const lookEvery: Millis = 5_000;

/** Decides, after a look at an agent, whether its next calls have to be looked at. */
export async function settleCalm(
  ports: AgentPorts,
  link: AgentLink | null,
  name: string,
  isNewTurn: boolean,
): Promise<void> {
  const seen = link && (await look(ports, link, name));
  if (link === null || seen === null) return wakeAgent(ports, name);
  await writeSeen(ports, name, seen);
  // How fast this turn spends is not known yet.
  const isUnsure = isNewTurn && seen.limit !== null;
  await writeCalm(ports, name, 'due', isUnsure ? 0 : lookEvery);
  if (!seen.isCalm) return wakeAgent(ports, name);
  await writeCalm(ports, name, 'far', farFor);
  // Whoever sets a budget records it, then wakes the agents; what was recorded before this file was there is seen now.
  if (!(await look(ports, link, name))?.isCalm) wakeAgent(ports, name);
}

async function look(ports: AgentPorts, link: AgentLink, name: string) {
  const { home } = ports;
  const { state } = await readView(ports, link.epic);
  const status = lookUp(state.sessions, link.session)?.value.status;
  if (status === undefined) return null;
  const before = readSeen(home, name);
  const [spent, limit] = [spentIn(state.ledger), budgetOf(state)];
  const most = Math.max(before?.most ?? 0, before?.epic === link.epic ? spent - before.spent : 0);
  const tokens = knownContext(state, link)?.tokens ?? 0;
  const models = Object.keys(metersOf(state, link.session));
  const money = { spent, limit, most, tokens, models };
  const isCalm =
    !hasEnded(status) &&
    readWaiting(home, link.session) === null &&
    !hasUnsaid(home, name) &&
    !isWithinReach(money, (await ports.readConfig()).prices, link.agent) &&
    !(await mayFillUp(ports, link, state));
  return { epic: link.epic, spent, most, limit, isCalm };
}

/** Could its context window fill up to where the user wants it stopped? */
async function mayFillUp(ports: AgentPorts, link: AgentLink, state: State): Promise<boolean> {
  const { critical, emergency } = (await targetOf(ports, link)).settings.policy.context ?? {};
  if (critical !== 'stop' && emergency !== 'stop') return false;
  return (knownContext(state, link)?.tier ?? 'NOMINAL') !== 'NOMINAL';
}
