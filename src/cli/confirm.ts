import { OrchError } from '../errors.ts';
import { catchSignals, statusOfSignal } from '../system/process/signals.ts';
import type { Context } from './run-command.ts';
import type { Call, OptionSpec } from './spec.ts';

/** Can orch ask the user a question? */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

type AskOptions = { readonly enterIs?: 'yes' | 'no' };

/**
 * Asks on the terminal. Anything but a clear yes means no, and so do the abort signal and the end of input; Enter alone
 * means yes only with `enterIs`. Ctrl+C sends SIGINT as usual, so callers must catch signals.
 */
export async function askYesNo(
  question: string,
  signal: AbortSignal,
  { enterIs = 'no' }: AskOptions = {},
): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  process.stdin.ref?.(); // undoes the unref of an earlier question, which would let the process exit now
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  // While readline is reading, the terminal delivers Ctrl+C as a key.
  asking.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await new Promise<string | null>((resolve) => {
      asking.question(`${question} ${enterIs === 'yes' ? '[Y/n]' : '[y/N]'} `, { signal }, resolve);
      signal.addEventListener('abort', () => resolve(null), { once: true });
      asking.once('close', () => resolve(null));
    });
    if (answer === null) {
      process.stderr.write('\n'); // so that the next message starts on its own line
      return false;
    }
    return answer.trim() === '' ? enterIs === 'yes' : /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
    process.stdin.unref?.();
  }
}

/** Asks, and returns the answer, or the signal that arrived instead. */
export async function askOrSignal(
  question: string,
  options: AskOptions = {},
): Promise<boolean | NodeJS.Signals> {
  const signals = catchSignals();
  const isYes = await askYesNo(question, signals.aborted, options).finally(signals.release);
  return signals.caught()?.signal ?? isYes;
}

/** The error for a question that cannot be asked; `command` would answer it with yes. */
export function cannotAsk(command: string): OrchError {
  return new OrchError('USAGE', 'nothing was changed: not a terminal, so orch cannot ask', {
    hint: `If that is what you want: ${command}`,
  });
}

/** Options of commands that show what they will do before they do it. */
export const confirmOptions: readonly OptionSpec[] = [
  { flags: '-y, --yes', description: 'do not ask' },
  { flags: '--dry-run', description: 'show what would happen, and change nothing' },
];

/** Shows what a command will do, and asks. Returns null to continue, or the exit status to stop with. */
export async function confirmFirst(
  { out, json, argv }: Context,
  { options }: Call,
  lines: readonly string[],
  question: string,
): Promise<number | null> {
  const isDryRun = options['dry-run'] === true;
  if (!json) for (const line of lines) (isDryRun ? out.print : out.inform)(line);
  if (isDryRun) return 0;
  if (options.yes === true) return null;
  if (json || !canAsk()) throw cannotAsk(`orch ${argv.join(' ')} -y`);
  const answer = await askOrSignal(question);
  if (answer === true) return null;
  out.inform('Nothing was changed.');
  return answer === false ? 1 : statusOfSignal(answer);
}
