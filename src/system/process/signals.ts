import { constants } from 'node:os';
import type { Millis } from '../../types.ts';
import { realClock } from '../clock.ts';

/** Handles signals instead of dying from them, until the returned function is called. */
export function onSignals(
  signals: readonly NodeJS.Signals[],
  onSignal: (signal: NodeJS.Signals) => void,
): () => void {
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

export type CaughtSignal = {
  readonly signal: NodeJS.Signals;
  /** By `Clock.elapsed`. */
  readonly at: Millis;
};

/** Signals that are kept until they are handled. */
export type SignalWatch = {
  caught(): CaughtSignal | null;
  /** Aborted by the first signal. */
  readonly aborted: AbortSignal;
  /** Calls back at every signal. */
  onCatch(listener: () => void): void;
  release(): void;
};

/** Catches the signals that end a program, so that none is lost while the work that handles it is still starting. */
export function catchSignals(): SignalWatch {
  const abort = new AbortController();
  let last: CaughtSignal | null = null;
  let listener = () => {};
  const release = onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
    // Ctrl+C may be meant for the command, so it does not replace a signal that was sent to this process.
    if (signal !== 'SIGINT' || last === null || last.signal === 'SIGINT')
      last = { signal, at: realClock.elapsed() };
    abort.abort();
    listener();
  });
  return {
    caught: () => last,
    aborted: abort.signal,
    onCatch: (next) => {
      listener = next;
    },
    release,
  };
}

/** Watches the abort signal of a calling program as if it were SIGTERM. */
export function watchAbort(aborted: AbortSignal): SignalWatch {
  let caught: CaughtSignal | null = null;
  let listener = () => {};
  const onAbort = () => {
    caught = { signal: 'SIGTERM', at: realClock.elapsed() };
    listener();
  };
  if (aborted.aborted) onAbort();
  else aborted.addEventListener('abort', onAbort, { once: true });
  return {
    caught: () => caught,
    aborted,
    onCatch: (next) => {
      listener = next;
    },
    release: () => aborted.removeEventListener('abort', onAbort),
  };
}

/** The exit status with which a shell reports that a signal ended a program. */
export function statusOfSignal(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}
