import { isOn } from '../checkpoint/policy.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { beginHooked, hasBegun } from './agent-begin.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { type Awaited, awaitCost, explainFullContext, readAgent, warnOfUnpriced } from './agent-reading.ts';
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

/** Records facts and what was used up meanwhile, and says what to make of it. */
export async function work(
  ports: AgentPorts,
  link: AgentLink,
  view: EpicView,
  facts: readonly Fact[],
  {
    ask = null,
    begins = false,
    ...awaited
  }: Awaited & { readonly ask?: Ask | null; readonly begins?: boolean } = {},
): Promise<Worked> {
  await awaitCost(ports, link, view.state, awaited);
  const { used, context } = await readAgent(ports, link, view.state);
  const happened = [...facts.map((fact) => completed(fact, view.state)), ...used];
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

/** An agent names a task once, and later only says what became of it. */
function completed(fact: Fact, state: State): Fact {
  if (fact.kind !== 'issue' || fact.title !== null) return fact;
  return { ...fact, title: lookUp(state.issues, fact.id)?.value.title ?? null };
}
