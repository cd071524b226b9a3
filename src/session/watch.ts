import type { Stop } from '../checkpoint/policy.ts';
import type { ProviderFailure } from '../integration/provider-limit.ts';
import { sleep } from '../system/clock.ts';
import type { Exit } from '../system/command.ts';
import type { SignalWatch } from '../system/signals.ts';
import type { Millis } from '../types.ts';
import type { Again, Follower } from './agent-follow.ts';
import { readView } from './context.ts';
import { readRequest, type StopRequest } from './live.ts';
import { type Halt, makeLook, type Sight, type Sources } from './look.ts';
import type { MoneyWatch } from './money-watch.ts';
import { findSignal, type News } from './news.ts';
import type { SessionPorts, Target } from './record.ts';

/** Why a session under supervision comes to its end. */
export type Reason =
  /** `failure`: its provider refused, and nobody waits until it does not. */
  | { readonly kind: 'exit'; readonly exit: Exit; readonly failure?: ProviderFailure }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** `saved` is the number of the checkpoint that was there before anything was stopped. */
  | { readonly kind: 'budget'; readonly stop: Stop; readonly saved: number | null }
  | { readonly kind: 'request'; readonly request: StopRequest }
  | { readonly kind: 'taken_over' }
  /** It could not be watched over any more. */
  | { readonly kind: 'blind'; readonly problem: string };

export type WatchOptions = {
  readonly signals: SignalWatch;
  /** Does Ctrl+C reach the command by itself, because it has the terminal? */
  readonly hasTerminal: boolean;
  /** Reads what agents write of themselves. */
  readonly follower: Pick<Follower, 'readFacts' | 'findFailure' | 'planAgain' | 'recordRest'> | null;
  /** Finds the files that changed without anybody telling. */
  readonly readChanges?: Sources['readChanges'];
  /** Begun before the work is: from then on what is recorded can be tampered with. */
  readonly money: MoneyWatch;
  readonly onEvent: (event: Sight) => void;
};

export type Watch = {
  /** Looks again and again, until there is a reason to end. */
  untilOver(): Promise<Reason>;
  /** The same, at the most until a time; null when it came. */
  untilTime(time: Millis): Promise<Reason | null>;
  /** How the command goes on though it ended. */
  planAgain(why: Reason): Promise<Again | null>;
  /** Takes in what the command did on its way out. Past the budget, that is why it ended, whatever it said itself. */
  lookLast(why: Reason): Promise<Reason>;
};

/** Looks are not made more often than this, however much is recorded. */
export const leastPause: Millis = 40;

/** Makes what watches over a session: it looks when something happens, and says why it has to end. */
export function makeWatch(ports: SessionPorts, target: Target, options: WatchOptions, news: News): Watch {
  let saved: number | null = null;
  const readFacts = options.follower?.readFacts ?? null;
  const { money, readChanges = null } = options;
  const look = makeLook(ports, target, { readFacts, readChanges, money }, (sight) => {
    if (sight.kind === 'look') saved = sight.view.saved?.document.seq ?? null;
    options.onEvent(sight);
  });
  const reasonOf = (halt: Halt): Reason =>
    halt.kind === 'budget' ? { kind: 'budget', stop: halt, saved } : halt;

  async function until(isTime: () => boolean): Promise<Reason | null> {
    for (;;) {
      const next = news.next();
      const halt = await look();
      if (halt) return reasonOf(halt);
      const reason = findReason(ports, target, options, news);
      if (reason) return reason;
      if (isTime()) return null;
      await next;
      await sleep(leastPause);
    }
  }

  return {
    async untilOver() {
      for (;;) {
        const reason = await until(() => false);
        if (reason) return reason;
      }
    },
    untilTime: (time) => until(() => ports.clock.now() >= time),
    async planAgain(why) {
      if (why.kind !== 'exit' || !options.follower) return null;
      // The agent's last words were written after the look that saw it end, or just before.
      await look();
      return options.follower.planAgain(why.exit, (await readView(ports, target.epic)).state);
    },
    async lookLast(why) {
      if (why.kind === 'taken_over') return why;
      await options.follower?.recordRest().catch((error) => {
        options.onEvent({ kind: 'fault', message: error instanceof Error ? error.message : String(error) });
      });
      const halt = await look(true);
      if (halt && !['budget', 'blind'].includes(why.kind)) return reasonOf(halt);
      const failure = why.kind === 'exit' ? options.follower?.findFailure(why.exit) : null;
      return why.kind === 'exit' && failure ? { ...why, failure } : why;
    },
  };
}

/** `ended with status 1`: how a command that failed did so. */
export function describeFailure({ exit, failure }: Reason & { kind: 'exit' }): string {
  const how = exit.signal ? `was ended by ${exit.signal}` : `ended with status ${exit.status}`;
  if (!failure) return how;
  return `${how}${failure.limit ? ", at its provider's limit" : ''}: ${failure.text}`;
}

function findReason(
  { home }: SessionPorts,
  { session, settings }: Target,
  { hasTerminal, signals }: WatchOptions,
  news: News,
): Reason | null {
  const signal = findSignal(signals, news, hasTerminal, settings.stopGrace);
  if (signal) return { kind: 'signal', signal };
  const { exit } = news;
  if (exit) return { kind: 'exit', exit: { status: exit.status, signal: exit.signal } };
  const request = readRequest(home, session);
  return request && { kind: 'request', request };
}
