import { constants } from 'node:os';
import type { Millis } from '../types.ts';
import { realClock } from './clock.ts';

/** Takes signals instead of dying of them, until the returned function is called. */
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
  /** By the steady clock. */
  readonly at: Millis;
};

/** Signals that are kept until somebody looks. */
export type SignalWatch = {
  caught(): CaughtSignal | null;
  /** Aborted by the first of them. */
  readonly aborted: AbortSignal;
  /** Told at each. */
  onCatch(tell: () => void): void;
  release(): void;
};

/** Takes the signals that end a program, so that none is lost while the work that has to answer it only begins. */
export function catchSignals(): SignalWatch {
  const abort = new AbortController();
  let last: CaughtSignal | null = null;
  let tell = () => {};
  const release = onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
    // Ctrl+C may be meant for the command; what came for this process itself is not forgotten over it.
    if (signal !== 'SIGINT' || last === null || last.signal === 'SIGINT')
      last = { signal, at: realClock.elapsed() };
    abort.abort();
    tell();
  });
  return {
    caught: () => last,
    aborted: abort.signal,
    onCatch: (next) => {
      tell = next;
    },
    release,
  };
}

/** The same for a program that says itself when it wants to end: what it says counts as SIGTERM. */
export function watchAbort(aborted: AbortSignal): SignalWatch {
  let caught: CaughtSignal | null = null;
  let tell = () => {};
  const hear = () => {
    caught = { signal: 'SIGTERM', at: realClock.elapsed() };
    tell();
  };
  if (aborted.aborted) hear();
  else aborted.addEventListener('abort', hear, { once: true });
  return {
    caught: () => caught,
    aborted,
    onCatch: (next) => {
      tell = next;
    },
    release: () => aborted.removeEventListener('abort', hear),
  };
}

/** The exit status by which a shell tells that a program died of a signal. */
export function statusOfSignal(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}
