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

/** The exit status by which a shell tells that a program died of a signal. */
export function statusOfSignal(signal: NodeJS.Signals): number {
  const numbers: { readonly [name: string]: number } = {
    SIGHUP: 1,
    SIGINT: 2,
    SIGQUIT: 3,
    SIGABRT: 6,
    SIGKILL: 9,
    SIGSEGV: 11,
    SIGPIPE: 13,
    SIGTERM: 15,
  };
  return 128 + (numbers[signal] ?? 0);
}
