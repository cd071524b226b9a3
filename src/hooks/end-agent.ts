import type { HookCall } from '../agents/calls/hook-call.ts';
import { findFailure } from '../agents/provider-limit.ts';
import { removeLive } from '../journal/live.ts';
import { hasBegun } from '../record/begin.ts';
import { readView } from '../record/view.ts';
import { type AgentLink, removeLink } from '../session/agent/agent-link.ts';
import { loadRunningSession } from '../session/find-session.ts';
import { endSession } from '../session/lifecycle.ts';
import type { Fact } from '../state/facts.ts';
import { type AgentAnswer, type AgentPorts, emptyAnswer, type HookContext } from './agent-ports.ts';
import { recordAgentWork } from './agent-work.ts';

/** Ends the session of an agent that has ended. One that cleared its context continues at once under another name. */
export async function endAgent(
  ports: AgentPorts,
  link: AgentLink,
  caller: HookContext,
  reason: string | null,
  facts: readonly Fact[] = [],
): Promise<AgentAnswer> {
  if (reason === 'clear') return emptyAnswer;
  const { session } = link;
  const isBegun = hasBegun(ports, session);
  if (isBegun) await recordAgentWork(ports, link, await readView(ports, link.epic), facts);
  if (caller.session === session) return emptyAnswer; // its supervisor ends it, or continues it with another agent
  if (isBegun) {
    const target = await loadRunningSession(ports, link);
    const failure = await findUnreported(ports, link, reason);
    if (failure) await endSession(ports, target, 'fail', `${link.agent} failed: ${failure}`);
    else
      await endSession(ports, target, 'pause', `${link.agent} ${describeEnd(reason)}`, { isRoutine: true });
  }
  forgetSession(ports, link);
  return emptyAnswer;
}

const couldNotContinue = 'could not continue';

/**
 * Describes what stopped an agent's turn: in the words of its transcript, else by the name the hook gives it. The text
 * stays unchanged, as some secrets are recognized by the whole line they are on.
 */
export function describeFailure({ agent, transcript }: HookCall, error: string): string {
  const said = findFailure(transcript ?? '')?.text ?? spellOut(error);
  return `${agent} ${couldNotContinue}: ${said}`;
}

/**
 * Finds why an agent without a terminal could not do its work: no hook reports that, but its transcript has it. An agent
 * with a terminal reports a failure through its hook, and keeps running until its user closes it.
 */
async function findUnreported(
  ports: AgentPorts,
  link: AgentLink,
  reason: string | null,
): Promise<string | null> {
  if (reason !== null && reason !== 'other') return null;
  const failure = findFailure(link.transcripts.at(-1) ?? '');
  if (failure === null) return null;
  const { notes } = (await readView(ports, link.epic)).state;
  const isReported = Object.values(notes).some(
    ({ value }) =>
      value.session === link.session && value.text.startsWith(`${link.agent} ${couldNotContinue}`),
  );
  return isReported ? null : failure.text;
}

/** Spells out an agent's own word. Any other text stays unchanged, so that a secret in it is still recognized. */
function spellOut(text: string): string {
  return /^[a-z_]{1,40}$/.test(text) ? text.replaceAll('_', ' ') : text;
}

/** Most of the agents' own words for why they ended mean nothing to a person. */
function describeEnd(reason: string | null): string {
  if (reason === null || reason === 'other') return 'ended';
  if (reason === 'prompt_input_exit') return 'was closed';
  if (reason === 'logout') return 'ended: logged out';
  return `ended: ${spellOut(reason)}`;
}

/** Removes what this clone keeps of a running agent's session. */
export function forgetSession({ disk, home }: AgentPorts, { session }: AgentLink): void {
  removeLive(disk, home, session);
  removeLink(disk, home, session);
}
