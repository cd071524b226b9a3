import type { Stop } from '../checkpoint/policy.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { formatUsd } from '../units.ts';
import { readView } from './context.ts';
import {
  findOverrun,
  grantRaise,
  holdMoney,
  holdOn,
  holdReadings,
  planRepairs,
  spentOf,
} from './held-money.ts';
import type { Sight } from './look.ts';
import { isNews } from './meters.ts';
import { answerRaises } from './raise.ts';
import type { SessionPorts, Target } from './record.ts';

/** Keeps in mind what an epic may spend and has spent, over the looks at it. */
export type MoneyWatch = {
  /** Takes in what the agent's files say, and gives back what is not recorded yet. */
  read(state: State, facts: Fact[]): Fact[];
  /** Compares a state with what is known; the facts that put right what was changed behind orch's back. */
  check(state: State): Promise<Fact[]>;
  /** Is the money gone, whatever the state says? */
  findOverrun(): Stop | null;
};

/** To be begun before the agent is. */
export async function watchMoney(
  ports: SessionPorts,
  { epic, session }: Target,
  tell: (sight: Extract<Sight, { kind: 'fault' }>) => void,
): Promise<MoneyWatch> {
  let held = holdMoney((await readView(ports, epic)).state, session);
  let repaired = '';
  return {
    read(state, facts) {
      held = holdReadings(held, state, facts);
      return facts.filter(isNews(state, session));
    },
    async check(state) {
      for (const limit of await answerRaises(ports, session)) held = grantRaise(held, state, limit);
      held = holdOn(held, state);
      const repairs = planRepairs(held, state);
      const now = JSON.stringify(repairs);
      // What did not help is not tried again and again: the limit is kept either way.
      if (repairs.length === 0 || now === repaired) return [];
      repaired = now;
      const limit = held.limit === null ? 'no limit' : formatUsd(held.limit);
      const message = `The record of ${epic}'s money was changed from outside orch. Still counted: ${formatUsd(spentOf(held))} of ${limit}`;
      tell({ kind: 'fault', message });
      return repairs;
    },
    findOverrun: () => findOverrun(held),
  };
}
