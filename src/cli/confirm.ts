import { OrchError } from '../errors.ts';
import { catchSignals, statusOfSignal } from '../system/signals.ts';
import { askYesNo, canAsk } from './ask.ts';
import type { Context } from './run.ts';
import type { Call, OptionSpec } from './spec.ts';

/** For commands that say first what they will do. */
export const confirmOptions: readonly OptionSpec[] = [
  { flags: '-y, --yes', description: 'do it without asking' },
  { flags: '--dry-run', description: 'say what it would do, and change nothing' },
];

/** Says what a command will do, and asks. The exit status where it is not to be done, null where it is. */
export async function confirmFirst(
  { out, json, argv }: Context,
  { options }: Call,
  lines: readonly string[],
  question: string,
): Promise<number | null> {
  const isDryRun = options['dry-run'] === true;
  const say = isDryRun ? out.print : out.tell;
  if (!json) for (const line of lines) say(line);
  if (isDryRun) return 0;
  if (options.yes === true) return null;
  if (json || !canAsk())
    throw new OrchError('USAGE', 'nothing was changed: not a terminal, so orch cannot ask', {
      hint: `If that is what you want: orch ${argv.join(' ')} -y`,
    });
  const signals = catchSignals();
  const isYes = await askYesNo(question, signals.aborted).finally(signals.release);
  const signal = signals.caught()?.signal;
  if (isYes && !signal) return null;
  out.tell('Nothing was changed.');
  return signal ? statusOfSignal(signal) : 1;
}
