/** Can somebody be asked? */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Asks on the terminal; anything but a clear yes is a no, and so is the signal. */
export async function askYesNo(question: string, signal: AbortSignal): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await new Promise<string>((resolve) => {
      asking.question(`${question} [y/N] `, { signal }, resolve);
      signal.addEventListener('abort', () => resolve(''), { once: true });
      asking.once('close', () => resolve(''));
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
    process.stdin.unref?.();
  }
}
