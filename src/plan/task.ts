import { keepTail } from '../integration/output-tail.ts';
import { drawFraction, type Random, sleepUnlessAborted } from '../system/clock.ts';
import { describeLeft } from '../system/process-table.ts';
import { type RunEnd, run } from '../system/run.ts';
import type { Environment } from '../system/spawn.ts';
import { formatAge } from '../units.ts';
import { type Artifact, registerArtifacts } from './artifacts.ts';
import { pauseAfter } from './outcome.ts';
import type { Command, Task } from './types.ts';

/** Where a task runs, and who is told. */
export type TaskPlace = {
  readonly cwd: string;
  readonly random: Random;
  /** Takes what must not be seen out of what it prints. */
  readonly redact: (text: string) => Promise<string>;
  /** What it gets in an attempt. */
  readonly env: (attempt: number) => Environment;
  /** The entry of its environment by which what it leaves behind is found. */
  readonly marker: string;
  /** Ends what runs, and begins no other attempt. */
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
  /** Settles when it is on disk that this attempt begins, and says whether it may: the money may be gone. */
  readonly onAttempt: (attempt: number) => Promise<boolean>;
  /** An attempt failed, and another follows. */
  readonly onRetry: (attempt: number, reason: string) => Promise<void>;
};

export type TaskEnd =
  | { readonly kind: 'succeeded'; readonly attempts: number; readonly artifacts: readonly Artifact[] }
  /** `output` is the end of what it printed. */
  | { readonly kind: 'failed'; readonly attempts: number; readonly reason: string; readonly output: string }
  | { readonly kind: 'stopped'; readonly attempts: number };

/** How much of what a task printed is shown when it fails, in characters. */
const shownOutput = 2_000;

/** Runs a task's command until it succeeds, or as often as it may be tried. Where it has none, it has succeeded. */
export async function runTask(task: Task, place: TaskPlace): Promise<TaskEnd> {
  for (let attempts = 1; ; attempts++) {
    if (place.signal.aborted) return { kind: 'stopped', attempts: attempts - 1 };
    if (!(await place.onAttempt(attempts))) return { kind: 'stopped', attempts: attempts - 1 };
    const { end, output } = await tryOnce(task, place, attempts);
    if (end.kind === 'succeeded') return { ...end, attempts };
    if (end.kind === 'stopped') return { ...end, attempts };
    if (attempts >= task.retry.attempts) return { ...end, attempts, output };
    await place.onRetry(attempts, end.reason);
    await sleepUnlessAborted(pauseAfter(attempts, task.retry, drawFraction(place.random)), place.signal);
  }
}

type AttemptEnd =
  | { readonly kind: 'succeeded'; readonly artifacts: readonly Artifact[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'stopped' };

async function tryOnce(
  { run: command, timeout, artifacts }: Task,
  { cwd, env, marker, signal, onOutput, redact }: TaskPlace,
  attempt: number,
): Promise<{ readonly end: AttemptEnd; readonly output: string }> {
  const tail = keepTail(shownOutput);
  const exit: RunEnd =
    command === null
      ? { how: 'exited', status: 0 }
      : await run({
          command: plainCommand(command),
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
  return {
    end: judgeAttempt(exit, timeout, () => registerArtifacts(cwd, artifacts)),
    output: await tail.read(redact),
  };
}

function plainCommand(command: Command): string | readonly string[] {
  return command.kind === 'shell' ? command.line : command.argv;
}

function judgeAttempt(
  exit: RunEnd,
  timeout: Task['timeout'],
  register: () => ReturnType<typeof registerArtifacts>,
): AttemptEnd {
  switch (exit.how) {
    case 'exited': {
      if (exit.status !== 0) return { kind: 'failed', reason: `exit status ${exit.status}` };
      const made = register();
      if (made.kind === 'missing') return { kind: 'failed', reason: made.problem };
      return { kind: 'succeeded', artifacts: made.artifacts };
    }
    case 'signalled':
      return { kind: 'failed', reason: `ended by ${exit.signal}` };
    case 'timed_out': {
      const after = timeout ?? 0;
      return {
        kind: 'failed',
        reason: `timed out after ${after < 1_000 ? `${after} ms` : formatAge(after)}${describeLeft(exit.left)}`,
      };
    }
    case 'aborted':
      return { kind: 'stopped' };
    case 'not_started':
      return { kind: 'failed', reason: `could not be started: ${exit.reason}` };
  }
}
