import { keepTail } from '../../redact/output-tail.ts';
import { drawFraction, type Random, sleepUnlessAborted } from '../../system/clock.ts';
import { type RunEnd, run } from '../../system/process/capture.ts';
import { describeRemaining } from '../../system/process/process-table.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { formatAge } from '../../units.ts';
import { pauseAfter } from '../effects/outcome.ts';
import type { Task } from '../plan.ts';
import { type Artifact, registerArtifacts } from './artifacts.ts';
import { keepLastLine, type ReadValues, type Values } from './task-values.ts';

type CommandContext = {
  readonly cwd: string;
  readonly random: Random;
  readonly redact: (text: string) => Promise<string>;
  readonly env: (attempt: number) => Environment;
  /** The environment entry by which processes it leaves behind are found. */
  readonly marker: string;
  /** Stops the command, and starts no further attempt. */
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
  /** Records durably that an attempt starts; false if it must not, such as when the budget is used up. */
  readonly onAttempt: (attempt: number) => Promise<boolean>;
  /** Called when another attempt follows: this one failed, or what it is repeated for does not hold yet. */
  readonly onRetry: (attempt: number, end: AttemptEnd, reason: string) => Promise<void>;
  /** The attempt to begin with, if earlier ones were made before a crash. */
  readonly from?: number;
  /** Reads the values that an attempt set, given the last line it printed. */
  readonly readValues?: (lastLine: string) => Promise<ReadValues>;
  /** Whether what a task is repeated for holds now. */
  readonly isOver?: (end: AttemptEnd) => { readonly holds: boolean; readonly because: string };
};

/** What an attempt left behind: its exit status, if it ended with one, and the values it set. */
export type Left = { readonly exit?: number | undefined; readonly values: Values };

export type CommandEnd = (
  | { readonly kind: 'succeeded'; readonly artifacts: readonly Artifact[]; readonly left: Left }
  /** `output` is the end of what it printed. */
  | { readonly kind: 'failed'; readonly reason: string; readonly output: string; readonly left: Left }
  | { readonly kind: 'stopped' }
) & { readonly attempts: number };

/** How many characters of a failed task's output are shown. */
const shownOutput = 2_000;

/**
 * Runs a task's command until it succeeds or its attempts are used up; a repeated one until its condition holds. A task
 * without a command succeeds.
 */
export async function runTaskCommand(task: Task, context: CommandContext): Promise<CommandEnd> {
  const { signal, random, from = 1, isOver } = context;
  const { repeat } = task;
  const pauses = repeat ?? task.retry;
  for (let attempts = from; ; attempts++) {
    if (signal.aborted || !(await context.onAttempt(attempts)))
      return { kind: 'stopped', attempts: attempts - 1 };
    const { end, output } = await tryOnce(task, context, attempts);
    if (end.kind === 'stopped') return { ...end, attempts };
    const answer = repeat && typeof repeat.until !== 'string' ? (isOver?.(end) ?? null) : null;
    const isEnough = answer === null ? end.kind === 'succeeded' : answer.holds;
    const why = end.kind === 'failed' ? end.reason : (answer?.because ?? '');
    if (isEnough || attempts >= pauses.attempts) {
      if (end.kind === 'failed') return { ...end, attempts, output };
      if (isEnough) return { ...end, attempts };
      return {
        kind: 'failed',
        reason: `after ${attempts} of ${pauses.attempts} times, ${why}`,
        left: end.left,
        attempts,
        output,
      };
    }
    await context.onRetry(attempts, end, why);
    await sleepUnlessAborted(pauseAfter(attempts, pauses, drawFraction(random)), signal);
  }
}

export type AttemptEnd =
  | { readonly kind: 'succeeded'; readonly artifacts: readonly Artifact[]; readonly left: Left }
  | { readonly kind: 'failed'; readonly reason: string; readonly left: Left };

type JudgedEnd =
  | { readonly kind: 'succeeded'; readonly artifacts: readonly Artifact[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'stopped' };

async function tryOnce(
  task: Task,
  { cwd, env, marker, signal, onOutput, redact, readValues }: CommandContext,
  attempt: number,
): Promise<{ readonly end: AttemptEnd | { readonly kind: 'stopped' }; readonly output: string }> {
  const { run: command, timeout } = task;
  const tail = keepTail(shownOutput);
  const lastLine = keepLastLine();
  const exit: RunEnd =
    command === null
      ? { how: 'exited', status: 0 }
      : await run({
          command: command.kind === 'shell' ? command.line : command.argv,
          cwd,
          env: env(attempt),
          marker,
          timeout: timeout ?? Number.POSITIVE_INFINITY,
          signal,
          onOutput: (text, stream) => {
            tail.add(text);
            if (stream === 'stdout') lastLine.add(text);
            onOutput(text);
          },
        });
  const end = judgeExit(exit, task, cwd);
  const output = await tail.read(redact);
  if (end.kind === 'stopped') return { end, output };
  const status = exit.how === 'exited' && command !== null ? { exit: exit.status } : {};
  const set = (await readValues?.(lastLine.read())) ?? { values: {} };
  if ('values' in set) return { end: { ...end, left: { ...status, values: set.values } }, output };
  const reason = end.kind === 'failed' ? end.reason : set.problem;
  return { end: { kind: 'failed', reason, left: { ...status, values: {} } }, output };
}

function judgeExit(exit: RunEnd, { timeout, artifacts }: Task, cwd: string): JudgedEnd {
  switch (exit.how) {
    case 'exited': {
      if (exit.status !== 0) return { kind: 'failed', reason: `exit status ${exit.status}` };
      const registered = registerArtifacts(cwd, artifacts);
      return 'problem' in registered
        ? { kind: 'failed', reason: registered.problem }
        : { kind: 'succeeded', artifacts: registered.artifacts };
    }
    case 'signalled':
      return { kind: 'failed', reason: `ended by ${exit.signal}` };
    case 'timed_out': {
      const after = timeout ?? 0;
      return {
        kind: 'failed',
        reason: `timed out after ${after < 1_000 ? `${after} ms` : formatAge(after)}${describeRemaining(exit.left)}`,
      };
    }
    case 'aborted':
      return { kind: 'stopped' };
    case 'not_started':
      return { kind: 'failed', reason: `could not be started: ${exit.reason}` };
  }
}
