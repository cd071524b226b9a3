import { isOn } from '../../checkpoint/policy.ts';
import { systemCode } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import { readOrchestration } from '../../orchestration-file/orchestration-file.ts';
import { hasBegun } from '../../record/begin.ts';
import type { NewSession, RunningSession, SessionPorts } from '../../record/ports.ts';
import { type Outcome, record } from '../../record/record.ts';
import type { CheckpointRequest } from '../../record/save.ts';

import { readView } from '../../record/view.ts';
import { rememberUsed } from '../../record/which/last-used.ts';
import type { Fact } from '../../state/facts.ts';
import { type AgentLink, readLink } from './agent-link.ts';

/**
 * Begins the session of an unsupervised agent with its first facts: from its hooks, or because a person set a budget
 * before the first prompt. Null if the session is not such an agent's.
 */
export async function beginHooked(
  ports: SessionPorts,
  target: RunningSession,
  facts: readonly Fact[],
  request: CheckpointRequest | null = null,
  endsWith: NewSession['endsWith'] = null,
): Promise<Outcome | null> {
  const link = readLink(ports.home, target.session);
  if (link === null) return null;
  const { agent, parentSessionId } = link;
  const first = isOn(target.settings.policy, 'session_start')
    ? { trigger: 'session_start' as const, reason: null }
    : null;
  try {
    const { state } = await readView(ports, link.epic);
    // A session that has ended and lost its journal must not begin again: its new facts would count as old ones.
    if (lookUp(state.sessions, link.session) && !hasBegun(ports, link.session)) return null;
    const begun: NewSession = { ...target, kind: 'new', agent, parentSessionId, endsWith };
    const fromFile = await readOrchestration(ports, state);
    const outcome = await record(
      ports,
      begun,
      [...agentFacts(link), ...fromFile, ...facts],
      request ?? first,
    );
    // The next agent on this branch then continues the epic even if the branch does not name it.
    rememberUsed(ports.disk, ports.home, (await ports.git.readHead()).branch, link.epic);
    return outcome;
  } catch (error) {
    // Another call began it at the same moment.
    if (!hasBegun(ports, link.session) || systemCode(causeOf(error)) !== 'EEXIST') throw error;
    return record(ports, target, endsWith ? [...facts, endsWith] : facts, request);
  }
}

/**
 * Begins the session of an agent that waits for its first prompt, from another process. Null if no agent waits in it: an
 * ended session may have no journal either.
 */
export async function beginWaiting(
  ports: SessionPorts,
  target: RunningSession,
  facts: readonly Fact[],
  request: CheckpointRequest | null,
  endsWith: NewSession['endsWith'] = null,
): Promise<Outcome | null> {
  const { sessions } = (await readView(ports, target.epic)).state;
  const isKnown = lookUp(sessions, target.session) !== undefined;
  return isKnown ? null : beginHooked(ports, target, facts, request, endsWith);
}

/** Records the agent's id of the conversation, with which it can be resumed. */
function agentFacts({ agent, agentSessions }: AgentLink): Fact[] {
  const session = agentSessions.at(-1);
  if (session === undefined) return [];
  return [{ kind: 'current_set', key: 'agent', value: { name: agent, session, model: null } }];
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : null;
}
