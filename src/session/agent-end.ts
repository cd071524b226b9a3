import type { HookCall } from '../integration/agent-event.ts';
import { findFailure } from '../integration/provider-limit.ts';
import type { Fact } from '../state/facts.ts';
import { hasBegun } from './agent-begin.ts';
import { type AgentAnswer, type AgentPorts, type Around, nothingToSay } from './agent-call.ts';
import { type AgentLink, removeLink } from './agent-link.ts';
import { targetOf, work } from './agent-work.ts';
import { readView } from './context.ts';
import { endSession } from './lifecycle.ts';
import { removeLive } from './live.ts';

/** The agent is gone. Clearing its context is not its end: it goes on in a moment under another name. */
export async function endAgent(
  ports: AgentPorts,
  link: AgentLink,
  around: Around,
  reason: string | null,
  facts: readonly Fact[] = [],
): Promise<AgentAnswer> {
  if (reason === 'clear') return nothingToSay;
  const { session } = link;
  if (hasBegun(ports, session)) await work(ports, link, await readView(ports, link.epic), facts);
  if (around.session === session) return nothingToSay; // its supervisor ends it, and may go on with it
  if (hasBegun(ports, session)) {
    const target = await targetOf(ports, link);
    const failure = await findUntold(ports, link, reason);
    if (failure) await endSession(ports, target, 'fail', `${link.agent} failed: ${failure}`);
    else
      await endSession(ports, target, 'pause', `${link.agent} ${describeEnd(reason)}`, { isRoutine: true });
  }
  forgetSession(ports, link);
  return nothingToSay;
}

const couldNotContinue = 'could not continue';

/**
 * What stopped an agent's turn: in the words its transcript has, else by the name the hook gives it. They stay as they
 * are: some secrets are known by the line they stand on.
 */
export function describeFailure({ agent, transcript }: HookCall, error: string): string {
  const said = findFailure(transcript ?? '')?.text ?? sayWord(error);
  return `${agent} ${couldNotContinue}: ${said}`;
}

/**
 * Why an agent that runs without a terminal could not do its work: no hook tells, its transcript does. One that told
 * of a failure by its hook goes on until its user closes it.
 */
async function findUntold(ports: AgentPorts, link: AgentLink, reason: string | null): Promise<string | null> {
  if (reason !== null && reason !== 'other') return null;
  const failure = findFailure(link.transcripts.at(-1) ?? '');
  if (failure === null) return null;
  const { notes } = (await readView(ports, link.epic)).state;
  const isTold = Object.values(notes).some(
    ({ value }) =>
      value.session === link.session && value.text.startsWith(`${link.agent} ${couldNotContinue}`),
  );
  return isTold ? null : failure.text;
}

/** An agent's own word for something; whatever else it sends stays as it is, so that a secret in it is still found. */
function sayWord(text: string): string {
  return /^[a-z_]{1,40}$/.test(text) ? text.replaceAll('_', ' ') : text;
}

/** Why an agent ended, in its own word for it: most of them say nothing to a person. */
function describeEnd(reason: string | null): string {
  if (reason === null || reason === 'other') return 'ended';
  if (reason === 'prompt_input_exit') return 'was closed';
  if (reason === 'logout') return 'ended: logged out';
  return `ended: ${sayWord(reason)}`;
}

export function forgetSession({ disk, home }: AgentPorts, { session }: AgentLink): void {
  removeLive(disk, home, session);
  removeLink(disk, home, session);
}
