import type { Exit } from '../system/command.ts';
import type { SignalWatch } from '../system/signals.ts';
import { watchFolders } from '../system/watch.ts';
import type { Millis } from '../types.ts';
import { journalFolder } from './journal.ts';
import { liveFolder } from './live.ts';
import type { SessionPorts } from './record.ts';

/** Something that happened, and when by the steady clock. */
type Timed<T> = T & { readonly at: Millis };

/** What came from outside since the last look, and a way to wait for more. */
export type News = {
  /** When the command began. */
  begunAt: Millis | null;
  /** How the command ended. */
  exit: Timed<Exit> | null;
  /** Settles at the next piece of news, or after a while. To be had before looking, so that none is missed. */
  next(): Promise<void>;
  onBegin(): void;
  onExit(exit: Exit): void;
  /** There is no command for now; another may come. */
  onPause(): void;
  close(): void;
};

const lookInterval: Millis = 1_000;

/** Collects what a supervisor has to know of: what others record and want, signals, the end of the command. */
export function collectNews({ home, clock }: SessionPorts, signals: SignalWatch): News {
  let wake = () => {};
  const unwatch = watchFolders([journalFolder(home), liveFolder(home)], () => wake());
  signals.onCatch(() => wake());
  const news: News = {
    begunAt: null,
    exit: null,
    onBegin: () => {
      news.begunAt = clock.elapsed();
    },
    onExit: (exit) => {
      news.exit = { ...exit, at: clock.elapsed() };
      wake();
    },
    onPause: () => {
      news.begunAt = null;
      news.exit = null;
    },
    next: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, lookInterval);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    close: unwatch,
  };
  return news;
}

/**
 * The signal the session has to end for. With the terminal the command hears Ctrl+C itself, and may well go on: then it
 * is the session's only if the command ended of it, or was not there yet to hear it.
 */
export function findSignal(
  signals: SignalWatch,
  { begunAt, exit }: News,
  hasTerminal: boolean,
  grace: Millis,
): NodeJS.Signals | null {
  const caught = signals.caught();
  if (caught === null) return null;
  const isHeard = hasTerminal && caught.signal === 'SIGINT' && begunAt !== null && caught.at >= begunAt;
  return !isHeard || (exit && isEndBy(exit, caught.at, grace)) ? caught.signal : null;
}

/** Did a command end because of a Ctrl+C, rather than go on after it and end in its own time? */
function isEndBy({ status, signal, at }: Timed<Exit>, caughtAt: Millis, grace: Millis): boolean {
  return signal === 'SIGINT' || status === 130 || at - caughtAt <= grace;
}
