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
    const because = `${link.agent} ${describeEnd(reason)}`;
    await endSession(ports, await targetOf(ports, link), 'pause', because, { isRoutine: true });
  }
  forgetSession(ports, link);
  return nothingToSay;
}

/** Why an agent ended, in its own word for it: most of them say nothing to a person. */
function describeEnd(reason: string | null): string {
  if (reason === null || reason === 'other') return 'ended';
  if (reason === 'prompt_input_exit') return 'was closed';
  if (reason === 'logout') return 'ended: logged out';
  return `ended: ${reason.replaceAll('_', ' ')}`;
}

export function forgetSession({ disk, home }: AgentPorts, { session }: AgentLink): void {
  removeLive(disk, home, session);
  removeLink(disk, home, session);
}
