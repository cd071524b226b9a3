import { isOn } from '../checkpoint/policy.ts';
import { systemCode } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import { statIfThere } from '../system/files.ts';
import type { SessionId } from '../types.ts';
import { type AgentLink, readLink } from './agent-link.ts';
import { readView } from './context.ts';
import { journalFolder, journalPath } from './journal.ts';
import { rememberUsed } from './last-used.ts';
import type { Opening } from './open.ts';
import { readOrchestration } from './orchestration.ts';
import { type Ask, type Outcome, record, recordInNew, type SessionPorts, type Target } from './record.ts';

export function hasBegun({ home }: Pick<SessionPorts, 'home'>, session: SessionId): boolean {
  return statIfThere(journalPath(journalFolder(home), session)) !== null;
}

/**
 * Begins the session of an agent that runs by itself with the first thing that happens in it, whoever records it: its
 * hooks, or a person who sets a budget before the first prompt. Null where it is no session of such an agent.
 */
export async function beginHooked(
  ports: SessionPorts,
  target: Target,
  facts: readonly Fact[],
  ask: Ask | null = null,
  endsWith: Opening['endsWith'] = null,
): Promise<Outcome | null> {
  const link = readLink(ports.home, target.session);
  if (link === null) return null;
  const { agent, parentSessionId } = link;
  const opening = { ...target, agent, parentSessionId, endsWith };
  const first = isOn(target.settings.policy, 'session_start')
    ? { trigger: 'session_start' as const, reason: null }
    : null;
  try {
    const { state } = await readView(ports, link.epic);
    // One that has ended, and whose journal is gone, never begins again: what it said would count as said before.
    if (lookUp(state.sessions, link.session) && !hasBegun(ports, link.session)) return null;
    const told = await readOrchestration(ports, state);
    const outcome = await recordInNew(ports, opening, [...agentFacts(link), ...told, ...facts], ask ?? first);
    // The next agent on this branch goes on with it, though no branch names it.
    rememberUsed(ports.disk, ports.home, (await ports.git.readHead()).branch, link.epic);
    return outcome;
  } catch (error) {
    // Two calls at once: the other one was faster to begin it.
    if (!hasBegun(ports, link.session) || systemCode(causeOf(error)) !== 'EEXIST') throw error;
    return record(ports, target, endsWith ? [...facts, endsWith] : facts, ask);
  }
}

/**
 * The same from outside, before the agent was asked anything. Null where no agent waits in the session: one that has
 * ended may have no journal any more either.
 */
export async function beginWaiting(
  ports: SessionPorts,
  target: Target,
  facts: readonly Fact[],
  ask: Ask | null,
  endsWith: Opening['endsWith'] = null,
): Promise<Outcome | null> {
  const { sessions } = (await readView(ports, target.epic)).state;
  const isKnown = lookUp(sessions, target.session) !== undefined;
  return isKnown ? null : beginHooked(ports, target, facts, ask, endsWith);
}

/** By its own name for the conversation, it can go on another time. */
function agentFacts({ agent, agentSessions }: AgentLink): Fact[] {
  const session = agentSessions.at(-1);
  if (session === undefined) return [];
  return [{ kind: 'current_set', key: 'agent', value: { name: agent, session, model: null } }];
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : null;
}
