/** Can somebody be asked? */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * Asks on the terminal; anything but a clear yes is a no, and so are the signal and the end of input.
 * Enter alone is a yes only where that is said. Ctrl+C is the signal it always is: whoever asks takes signals.
 */
export async function askYesNo(
  question: string,
  signal: AbortSignal,
  { enterIs = 'no' }: { readonly enterIs?: 'yes' | 'no' } = {},
): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  process.stdin.ref?.(); // an earlier question let go of it, and nothing else may keep the process waiting
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  // While a question stands, the terminal hands Ctrl+C over as a key.
  asking.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await new Promise<string | null>((resolve) => {
      asking.question(`${question} ${enterIs === 'yes' ? '[Y/n]' : '[y/N]'} `, { signal }, resolve);
      signal.addEventListener('abort', () => resolve(null), { once: true });
      asking.once('close', () => resolve(null));
    });
    if (answer === null) {
      process.stderr.write('\n'); // what comes next does not belong behind the question
      return false;
    }
    return answer.trim() === '' ? enterIs === 'yes' : /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
    process.stdin.unref?.();
  }
}
