import { isOn } from '../checkpoint/policy.ts';
import { hasBegun } from '../record/begin.ts';
import type { RunningSession } from '../record/ports.ts';
import { type Outcome, record } from '../record/record.ts';
import type { CheckpointRequest } from '../record/save.ts';
import type { EpicView } from '../record/view.ts';
import type { AgentLink } from '../session/agent/agent-link.ts';
import { beginHooked } from '../session/agent/begin-hooked.ts';
import { meteredFacts } from '../session/agent/meter-session.ts';
import { nameTasks, withToolFacts } from '../session/agent/tool-facts.ts';
import { describeMoney } from '../session/epic-status.ts';
import { loadRunningSession } from '../session/find-session.ts';
import type { Fact } from '../state/facts.ts';
import type { AgentPorts } from './agent-ports.ts';
import {
  explainFullContext,
  readAgent,
  type TranscriptMark,
  waitForTranscript,
  warnOfUnpriced,
} from './read-agent.ts';

export type WorkResult = {
  readonly verdict: Outcome['verdict'];
  /** What the user should know besides the verdict. */
  readonly warning: string | null;
  /** Explains that the context window is too full to continue. */
  readonly full: string | null;
};

export type WorkOptions = TranscriptMark & {
  /** A checkpoint to make, if the policy has its trigger on. */
  readonly checkpoint?: CheckpointRequest | null;
  /** The id of the tool call that the facts describe: the transcript contains the same call. */
  readonly toolCall?: string | null;
  /** Does the session begin now, even if there is nothing to record? */
  readonly begins?: boolean;
};

/** Records facts, together with what the agent's tools did and what it used since the last time. */
export async function recordAgentWork(
  ports: AgentPorts,
  link: AgentLink,
  view: EpicView,
  facts: readonly Fact[],
  { toolCall = null, ...options }: WorkOptions = {},
): Promise<WorkResult> {
  await waitForTranscript(ports, link, view.state, options);
  const reported = { mark: toolCall, facts };
  return withToolFacts(ports, link, reported, (all) => recordAll(ports, link, view, all, options));
}

async function recordAll(
  ports: AgentPorts,
  link: AgentLink,
  view: EpicView,
  facts: readonly Fact[],
  { checkpoint = null, begins = false }: WorkOptions,
): Promise<WorkResult> {
  const { used, context } = await readAgent(ports, link, view.state);
  const happened = [...nameTasks(facts, view.state), ...used];
  // The fill of the context window alone begins no session.
  const all = happened.length > 0 || hasBegun(ports, link.session) ? [...happened, ...context] : [];
  if (happened.length > 0) all.push(...meteredFacts(view.state, link.agentSessions));
  const target = await loadRunningSession(ports, link);
  const isFirst = begins && !hasBegun(ports, link.session);
  // Over budget, every call needs the verdict again, even with nothing new to record.
  const isNeeded = isFirst || view.pending.length > 0 || describeMoney(view.state).level === 'exceeded';
  const request = checkpoint && isOn(target.settings.policy, checkpoint.trigger) ? checkpoint : null;
  const outcome =
    all.length > 0 || request !== null || isNeeded
      ? await recordOrBegin(ports, link, target, all, { request, isFirst })
      : null;
  const { state, verdict } = outcome ?? { state: view.state, verdict: { warn: [], stop: null } };
  const warning = warnOfUnpriced(view.state, state, (await ports.readConfig()).prices);
  return { verdict, warning, full: explainFullContext(target, link, state) };
}

async function recordOrBegin(
  ports: AgentPorts,
  link: AgentLink,
  target: RunningSession,
  facts: readonly Fact[],
  { request, isFirst }: { readonly request: CheckpointRequest | null; readonly isFirst: boolean },
): Promise<Outcome | null> {
  if (hasBegun(ports, link.session)) return record(ports, target, facts, request);
  return facts.length > 0 || isFirst ? beginHooked(ports, target, facts) : null;
}
