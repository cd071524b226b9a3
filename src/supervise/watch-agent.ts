import type { Orch } from '../orch.ts';
import type { RunningSession } from '../record/ports.ts';
import { messagesFolder } from '../session/messages.ts';
import { noteProviderLimit, takeTurn } from '../witness/limits.ts';
import { makeWitness, type Witness } from '../witness/witness.ts';
import type { Follower } from './follow-agent.ts';
import type { ProviderLimits } from './supervise.ts';
import type { SuperviseConfig } from './supervise-session.ts';

/* What looks after an agent besides its budget: the witness, and what agents tell each other about their provider. */

/** Is it an agent of a convoy? What such a one starts itself is none. */
function isWorker(
  { home }: Orch,
  { epic }: RunningSession,
  { messages }: Pick<SuperviseConfig, 'messages'>,
): boolean {
  return messages === messagesFolder(home, epic);
}

export async function openWitness(
  orch: Orch,
  target: RunningSession,
  config: Pick<SuperviseConfig, 'messages' | 'hasTerminal' | 'onEvent'>,
): Promise<Witness> {
  const { witness: policy } = await orch.readConfig();
  return makeWitness(orch, target, {
    policy,
    agent: isWorker(orch, target, config) ? 'worker' : config.hasTerminal ? 'terminal' : 'background',
    onNotice: (message) => config.onEvent?.({ kind: 'notice', message }),
  });
}

/** A user's own agents may use another account, and wait for themselves only. */
export function shareLimits(
  orch: Orch,
  target: RunningSession,
  config: Pick<SuperviseConfig, 'messages'>,
  follower: Follower | null,
): ProviderLimits | null {
  const agent = follower?.agent ?? null;
  if (agent === null || !isWorker(orch, target, config)) return null;
  return {
    note: (until) => noteProviderLimit(orch, agent, until),
    takeTurn: () => takeTurn(orch, agent),
  };
}
