import { findFullContext } from '../checkpoint/policy.ts';
import { type ContextReading, type ContextWindow, measureContext } from '../cost/context.ts';
import type { Prices } from '../cost/pricing.ts';
import { explainGuess, nameFresh } from '../cost/unpriced.ts';
import { endsWithAnswer, endsWithWord, findTranscripts } from '../integration/transcript.ts';
import { lookUp } from '../keyed.ts';
import { canonicalJson } from '../state/canonical.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { sleep } from '../system/clock.ts';
import type { Millis } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { meterSession } from './agent-meter.ts';
import { isNews } from './meters.ts';
import type { Target } from './record.ts';
import { describeMoney } from './status.ts';

/** What an agent's transcripts say, as far as it is not recorded yet: what it used, and how full its window is. */
export async function readAgent(
  ports: AgentPorts,
  link: AgentLink,
  state: State,
): Promise<{ readonly used: readonly Fact[]; readonly context: readonly Fact[] }> {
  const { context: configured } = await ports.readConfig();
  const { facts, contexts } = await meterSession(ports, link, state, link.transcripts);
  const used = facts.filter(isNews(state, link.session));
  const reading = lookUp(contexts, link.transcripts.at(-1) ?? '') ?? null;
  return { used, context: contextFacts(state, link, reading, configured.window) };
}

/** Claude Code writes its transcript every tenth of a second. Longer than this nothing waits for it. */
const patience: Millis = 300;

/** What of a call has to be in the transcript before that says what the call cost. */
export type Awaited = {
  /** A tool is about to be used: what the model said of it has this mark. */
  readonly mark?: string | null;
  /** A turn is over: this was its answer. */
  readonly answer?: string | null;
};

/**
 * Waits for the transcript, not for long: hooks are faster than the agent writes. No tool is to slip through past a
 * budget, so it waits where there is one to keep; and when a turn is over, its cost is to be seen, not only at the next.
 */
export async function awaitCost(
  { clock }: Pick<AgentPorts, 'clock'>,
  { agent, transcripts }: AgentLink,
  state: State,
  { mark, answer }: Awaited,
): Promise<void> {
  const path = transcripts.at(-1);
  // Codex tells what a turn cost only when its tools are done, and does so before it says that it is over.
  if (agent !== 'claude' || path === undefined) return;
  const { level } = describeMoney(state);
  const isWritten = () => {
    if (mark && level !== 'none' && level !== 'exceeded')
      return findTranscripts(path).some((file) => endsWithWord(file, mark));
    return !answer || endsWithAnswer(path, answer.trim().slice(0, 200));
  };
  if (isWritten()) return;
  const began = clock.elapsed();
  while (!isWritten() && clock.elapsed() - began < patience) await sleep(10);
}

/** What is known of the window of an agent; null where what is known is another agent's. */
export function knownContext(state: State, { agentSessions }: AgentLink): ContextWindow | null {
  const known = readCurrent(state, 'contextWindow');
  return known !== null && agentSessions.includes(known.agentSession) ? known : null;
}

/** Tells of an agent's window, where there is something new to tell. */
export function contextFacts(
  state: State,
  link: AgentLink,
  reading: ContextReading | null,
  configured: 'auto' | number,
): Fact[] {
  const before = knownContext(state, link);
  const agentSession = link.agentSessions.at(-1) ?? '';
  if (reading === null && before === null) return [];
  const isCleared = before !== null && before.agentSession !== agentSession;
  // After clearing it nothing is in it yet; in any other case what is there can no longer be told.
  const found = reading ?? (isCleared ? { tokens: 0, model: null, window: null } : null);
  const value = found && measureContext(found, agentSession, configured, before);
  if (canonicalJson(value) === canonicalJson(before)) return [];
  return [{ kind: 'current_set', key: 'contextWindow', value }];
}

/** Why an agent must stop though there is money left; null where it need not. */
export function explainFullContext({ settings }: Target, link: AgentLink, state: State): string | null {
  const full = findFullContext(settings.policy, state, link.agentSessions);
  if (full === null) return null;
  const percent = Math.floor(full.fill * 100);
  return `orch: the context window is ${percent} % full (${full.tier}). All is saved. Compact it or begin anew: the next session gets the brief of ${link.epic}.`;
}

/** Says once that a model has no price, and what is counted instead. */
export function warnOfUnpriced(before: State, after: State, prices: Prices): string | null {
  const models = nameFresh(before.ledger, after.ledger, prices);
  return models && `orch: ${explainGuess(models)}`;
}
