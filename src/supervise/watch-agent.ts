import type { Budget } from '../cost/budget.ts';
import type { Delivery } from '../notify/deliver.ts';
import { notify } from '../notify/notify.ts';
import type { Orch } from '../orch.ts';
import type { RunningSession } from '../record/ports.ts';
import { messagesFolder } from '../session/messages.ts';
import { noteProviderLimit, takeTurn } from '../witness/limits.ts';
import { makeWitness, type Witness } from '../witness/witness.ts';
import type { Follower } from './follow-agent.ts';
import type { SessionEvent } from './look.ts';
import type { ProviderLimits } from './supervise.ts';
import type { SuperviseConfig, SuperviseEvent } from './supervise-session.ts';

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
    onTrouble: ({ health, why, ends, since }) =>
      notify(orch, {
        ...{ kind: 'stuck', at: orch.clock.now(), epic: target.epic },
        unique: [target.session, since, ends ? 'paused' : 'told'],
        text: `The agent of ${target.epic} ${ends ? `was paused, because it was ${health}` : `is ${health}`}: ${why}.`,
        next: ends ? `orch resume -e ${target.epic}` : 'orch witness status',
      }),
  });
}

/** Has people told when the budget of an agent that was started by hand gets low; a convoy tells of its own. */
export function tellOfBudget(
  orch: Orch,
  target: RunningSession,
  config: Pick<SuperviseConfig, 'messages'> & { readonly onEvent: (event: SuperviseEvent) => void },
  delivery: Delivery,
): (event: SuperviseEvent) => void {
  const { onEvent } = config;
  if (isWorker(orch, target, config)) return onEvent;
  const note = watchBudget(orch, delivery, `orch cost budget +10 -e ${target.epic}`);
  return (event) => {
    if (event.kind === 'look') note(event);
    onEvent(event);
  };
}

/** Makes what notes, look by look, that 80% of a budget are used, and all of it. `next` raises it. */
export function watchBudget(
  { clock }: Orch,
  { note }: Delivery,
  next: string,
): (look: Extract<SessionEvent, { kind: 'look' }>) => void {
  let known: Budget['level'] = 'none';
  return ({ view: { epic }, budget: { level, spentUsd, limitUsd } }) => {
    const isNew = level !== known;
    known = level;
    if (!isNew || limitUsd === null || (level !== 'warning' && level !== 'exceeded')) return;
    const share = level === 'warning' ? '80%' : '100%';
    note({
      ...{ kind: 'budget', at: clock.now(), epic, unique: [share, limitUsd] },
      text: `${epic} has used ${share} of its budget: $${spentUsd.toFixed(2)} of $${limitUsd.toFixed(2)}.`,
      next,
    });
  };
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
