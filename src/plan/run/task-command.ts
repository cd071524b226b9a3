import { keepTail } from '../../redact/output-tail.ts';
import { drawFraction, type Random, sleepUnlessAborted } from '../../system/clock.ts';
import { type RunEnd, run } from '../../system/process/capture.ts';
import { describeRemaining } from '../../system/process/process-table.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { formatAge } from '../../units.ts';
import { pauseAfter } from '../effects/outcome.ts';
import type { Task } from '../plan.ts';
import { type Artifact, registerArtifacts } from './artifacts.ts';

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
  /** Called when an attempt has failed and another follows. */
  readonly onRetry: (attempt: number, reason: string) => Promise<void>;
};

type CommandEnd =
  | { readonly kind: 'succeeded'; readonly attempts: number; readonly artifacts: readonly Artifact[] }
  /** `output` is the end of what it printed. */
  | { readonly kind: 'failed'; readonly attempts: number; readonly reason: string; readonly output: string }
  | { readonly kind: 'stopped'; readonly attempts: number };

/** How many characters of a failed task's output are shown. */
const shownOutput = 2_000;

/** Runs a task's command until it succeeds or its attempts are used up. A task without a command succeeds. */
export async function runTaskCommand(task: Task, context: CommandContext): Promise<CommandEnd> {
  const { signal, random } = context;
  for (let attempts = 1; ; attempts++) {
    if (signal.aborted || !(await context.onAttempt(attempts)))
      return { kind: 'stopped', attempts: attempts - 1 };
    const { end, output } = await tryOnce(task, context, attempts);
    if (end.kind !== 'failed') return { ...end, attempts };
    if (attempts >= task.retry.attempts) return { ...end, attempts, output };
    await context.onRetry(attempts, end.reason);
    await sleepUnlessAborted(pauseAfter(attempts, task.retry, drawFraction(random)), signal);
  }
}

type AttemptEnd =
  | { readonly kind: 'succeeded'; readonly artifacts: readonly Artifact[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'stopped' };

async function tryOnce(
  task: Task,
  { cwd, env, marker, signal, onOutput, redact }: CommandContext,
  attempt: number,
): Promise<{ readonly end: AttemptEnd; readonly output: string }> {
  const { run: command, timeout } = task;
  const tail = keepTail(shownOutput);
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
          onOutput: (text) => {
            tail.add(text);
            onOutput(text);
          },
        });
  return { end: judgeExit(exit, task, cwd), output: await tail.read(redact) };
}

function judgeExit(exit: RunEnd, { timeout, artifacts }: Task, cwd: string): AttemptEnd {
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
