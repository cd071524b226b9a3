import { isOn } from '../checkpoint/policy.ts';
import type { Fact } from '../state/facts.ts';
import { beginHooked, hasBegun } from './agent-begin.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { type Awaited, awaitCost, explainFullContext, readAgent, warnOfUnpriced } from './agent-reading.ts';
import { nameTasks, withTold } from './agent-told.ts';
import type { EpicView } from './context.ts';
import { meteredFacts } from './import.ts';
import { readLive } from './live.ts';
import { type Ask, type Outcome, record, type Target } from './record.ts';
import { describeMoney } from './status.ts';

export async function targetOf(ports: AgentPorts, { epic, session }: AgentLink): Promise<Target> {
  const settings = readLive(ports.home, session)?.settings ?? (await ports.readSettings());
  return { epic, session, settings };
}

export type Worked = {
  readonly verdict: Outcome['verdict'];
  /** What the user should know besides the verdict. */
  readonly warning: string | null;
  /** Why it must stop though there is money left. */
  readonly full: string | null;
};

/** What is asked of a look at an agent besides. */
export type Wanted = Awaited & {
  readonly ask?: Ask | null;
  /** The mark of the tool that the facts are of: its transcript tells them too. */
  readonly told?: string | null;
  /** Does the session begin now, whatever there is to record? */
  readonly begins?: boolean;
};

/** Records facts, what the agent's tools did and what was used up meanwhile, and says what to make of it. */
export async function work(
  ports: AgentPorts,
  link: AgentLink,
  view: EpicView,
  facts: readonly Fact[],
  { told = null, ...wanted }: Wanted = {},
): Promise<Worked> {
  await awaitCost(ports, link, view.state, wanted);
  return withTold(ports, link, { mark: told, facts }, (all) => recordAll(ports, link, view, all, wanted));
}

async function recordAll(
  ports: AgentPorts,
  link: AgentLink,
  view: EpicView,
  facts: readonly Fact[],
  { ask = null, begins = false }: Wanted,
): Promise<Worked> {
  const { used, context } = await readAgent(ports, link, view.state);
  const happened = [...nameTasks(facts, view.state), ...used];
  // How full its window is makes no session of one in which nothing happened.
  const all = happened.length > 0 || hasBegun(ports, link.session) ? [...happened, ...context] : [];
  if (happened.length > 0) all.push(...meteredFacts(view.state, link.agentSessions));
  const target = await targetOf(ports, link);
  // Past the budget the answer is the same again, though nothing is new.
  const isFirst = begins && !hasBegun(ports, link.session);
  const isCalledFor = isFirst || view.pending.length > 0 || describeMoney(view.state).level === 'exceeded';
  const outcome = await recordWork(ports, link, target, all, { ask, isCalledFor, isFirst });
  const { state, verdict } = outcome ?? { state: view.state, verdict: { warn: [], stop: null } };
  const warning = warnOfUnpriced(view.state, state, (await ports.readConfig()).prices);
  return { verdict, warning, full: explainFullContext(target, link, state) };
}

async function recordWork(
  ports: AgentPorts,
  link: AgentLink,
  target: Target,
  all: readonly Fact[],
  {
    ask,
    isCalledFor,
    isFirst,
  }: { readonly ask: Ask | null; readonly isCalledFor: boolean; readonly isFirst: boolean },
): Promise<Outcome | null> {
  const wanted = ask && isOn(target.settings.policy, ask.trigger) ? ask : null;
  if (all.length === 0 && wanted === null && !isCalledFor) return null;
  if (hasBegun(ports, link.session)) return record(ports, target, all, wanted);
  if (all.length === 0 && !isFirst) return null; // nothing has happened in it yet
  return beginHooked(ports, target, all);
}
