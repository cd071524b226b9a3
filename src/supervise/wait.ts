import { liveFolder } from '../journal/live.ts';
import { journalFolder } from '../journal/read.ts';
import type { SessionPorts } from '../record/ports.ts';
import { watchFolders } from '../system/file-facts.ts';
import type { Exit } from '../system/process/command.ts';
import type { SignalWatch } from '../system/process/signals.ts';
import type { Millis } from '../types.ts';

/** How a command ended, and when by the steady clock. */
export type TimedExit = Exit & { readonly at: Millis };

/** What the loop waits for, and what is known of the work between two looks. */
export type Waiter = {
  /** When the running work started; null while there is none, or until it can have received signals. */
  readonly startedAt: Millis | null;
  /** How the work ended; null while it runs. */
  readonly exit: TimedExit | null;
  /** Settles at the next change, or after a while. Call it before looking, so that no change is missed. */
  next(): Promise<void>;
  onStart(): void;
  onExit(exit: Exit): void;
  /** Forgets work that has ended; other work may start. */
  forget(): void;
  close(): void;
};

/** Looks are no more frequent than this, however much is recorded. */
export const shortestPause: Millis = 40;
/** They are no rarer than this: files change without a notice from the system, and time passes. */
const longestPause: Millis = 1_000;

/** Waits for anything a supervisor has to look at: a changed journal, a request, a signal, the end of its work. */
export function openWaiter({ home, clock }: SessionPorts, signals: SignalWatch): Waiter {
  let notify = () => {};
  let startedAt: Millis | null = null;
  let exit: TimedExit | null = null;
  let starting: NodeJS.Timeout | undefined;
  const unwatch = watchFolders([journalFolder(home), liveFolder(home)], () => notify());
  signals.onCatch(() => notify());
  return {
    get startedAt() {
      return startedAt;
    },
    get exit() {
      return exit;
    },
    next: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, longestPause);
        notify = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    onStart: () => {
      // A signal sent before the command existed may arrive late: for a moment, every signal is for us.
      starting = setTimeout(() => {
        startedAt = clock.elapsed();
      }, shortestPause);
    },
    onExit: (ended) => {
      exit = { ...ended, at: clock.elapsed() };
      notify();
    },
    forget: () => {
      clearTimeout(starting);
      startedAt = null;
      exit = null;
    },
    close: () => {
      clearTimeout(starting);
      unwatch();
    },
  };
}
