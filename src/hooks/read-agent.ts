import { endsWithAnswer, endsWithWord, findTranscripts } from '../agents/transcript/transcript.ts';
import { findFullContext } from '../checkpoint/policy.ts';
import { type ContextReading, type ContextWindow, measureContext } from '../cost/context-window.ts';
import { explainGuess, nameNewGuesses, type Prices } from '../cost/pricing.ts';
import { lookUp } from '../keyed.ts';
import type { RunningSession } from '../record/ports.ts';
import type { AgentLink } from '../session/agent/agent-link.ts';
import { isNews, meterSession } from '../session/agent/meter-session.ts';
import { describeMoney } from '../session/epic-status.ts';
import { canonicalJson } from '../state/canonical.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { sleep } from '../system/clock.ts';
import type { Millis } from '../types.ts';
import type { AgentPorts } from './agent-ports.ts';

/** Reads what an agent's transcripts say beyond what is recorded: what it used, and how full its context window is. */
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

/** Claude Code writes its transcript every tenth of a second; a hook waits no longer than this. */
const patience: Millis = 300;

/** What the transcript must contain before it shows what a call cost. */
export type TranscriptMark = {
  /** Before a tool runs: the id of its call. */
  readonly mark?: string | null;
  /** After a turn: its answer. */
  readonly answer?: string | null;
};

/**
 * Waits a moment for the transcript, as hooks are called before the agent has written it. With a budget it waits before
 * each tool, so that none runs past the limit; after a turn it always waits, so that the turn's cost shows at once.
 */
export async function waitForTranscript(
  { clock }: Pick<AgentPorts, 'clock'>,
  { agent, transcripts }: AgentLink,
  state: State,
  { mark, answer }: TranscriptMark,
): Promise<void> {
  const path = transcripts.at(-1);
  // Codex writes what a turn cost when its tools are done, and before it calls the hook for the end of the turn.
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

/** The recorded context window of an agent; null if the record is another agent's. */
export function knownContext(state: State, { agentSessions }: AgentLink): ContextWindow | null {
  const known = readCurrent(state, 'contextWindow');
  return known !== null && agentSessions.includes(known.agentSession) ? known : null;
}

function contextFacts(
  state: State,
  link: AgentLink,
  reading: ContextReading | null,
  configured: 'auto' | number,
): Fact[] {
  const before = knownContext(state, link);
  const agentSession = link.agentSessions.at(-1) ?? '';
  if (reading === null && before === null) return [];
  const isCleared = before !== null && before.agentSession !== agentSession;
  // A cleared window is empty. In any other case without a reading, its fill is unknown.
  const found = reading ?? (isCleared ? { tokens: 0, model: null, window: null } : null);
  const value = found && measureContext(found, agentSession, configured, before);
  if (canonicalJson(value) === canonicalJson(before)) return [];
  return [{ kind: 'current_set', key: 'contextWindow', value }];
}

/** Explains that an agent must stop because its context window is too full; null where it need not. */
export function explainFullContext(
  { settings }: RunningSession,
  link: AgentLink,
  state: State,
): string | null {
  const full = findFullContext(settings.policy, state, link.agentSessions);
  if (full === null) return null;
  const percent = Math.floor(full.fill * 100);
  return `orch: the context window is ${percent}% full (${full.tier}). Everything is saved. Compact it or start a new session, which gets the brief of ${link.epic}.`;
}

/** Warns once about a model without a price, and says what is counted instead. */
export function warnOfUnpriced(before: State, after: State, prices: Prices): string | null {
  const models = nameNewGuesses(before.ledger, after.ledger, prices);
  return models && `orch: ${explainGuess(models)}`;
}
