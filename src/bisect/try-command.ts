import { constants } from 'node:os';
import type { CommandLine } from '../config/load.ts';
import { keepTail } from '../redact/output-tail.ts';
import type { Clock } from '../system/clock.ts';
import { type RunEnd, run } from '../system/process/capture.ts';
import { describeRemaining } from '../system/process/process-table.ts';
import { endTree, listTree } from '../system/process/process-tree.ts';
import { inheritedEnvironment } from '../system/process/spawn.ts';
import type { Millis } from '../types.ts';
import { formatAge } from '../units.ts';
import type { Outcome } from './kept-results.ts';
import type { Verdict } from './next-step.ts';

export type TryRequest = {
  readonly command: CommandLine;
  /** Run before it; if this fails, the code cannot be judged. */
  readonly setup: string | null;
  readonly timeout: Millis;
  readonly cwd: string;
  /** The environment entry by which everything it starts is found. */
  readonly marker: string;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly redact: (text: string) => Promise<string>;
};

/** How much of the output is kept, in characters. */
const maxOutput = 3_000;

/** Runs the command on the code in a folder; null if the signal stopped it. Leaves nothing running. */
export async function tryCommand(request: TryRequest): Promise<Outcome | null> {
  const { clock, setup, command, timeout } = request;
  const began = clock.elapsed();
  const output = keepTail(maxOutput);
  const finish = async (verdict: Verdict, why: string): Promise<Outcome> => ({
    verdict,
    why,
    durationMs: Math.round(clock.elapsed() - began),
    output: await output.read(request.redact),
  });
  try {
    if (setup !== null) {
      const end = await runOnce(request, setup, Number.POSITIVE_INFINITY, output.add);
      if (end.how === 'aborted') return null;
      const { verdict, why } = judgeEnd(end, Number.POSITIVE_INFINITY);
      if (verdict !== 'good') return await finish('skip', `the setup failed: ${why}`);
    }
    const end = await runOnce(request, command, timeout, output.add);
    if (end.how === 'aborted') return null;
    const { verdict, why } = judgeEnd(end, timeout);
    return await finish(verdict, why);
  } finally {
    await endLeftovers(request.marker);
  }
}

async function runOnce(
  { cwd, marker, signal }: TryRequest,
  command: CommandLine,
  timeout: Millis,
  onOutput: (text: string) => void,
): Promise<RunEnd> {
  const inherited = Object.entries(inheritedEnvironment());
  // In a git hook these variables name the user's repository, and a test that uses git would write there.
  const env = { ...Object.fromEntries(inherited.filter(([name]) => !name.startsWith('GIT_'))), PWD: cwd };
  return run({ command, cwd, env, marker, timeout, isGuarded: true, onOutput, ...(signal && { signal }) });
}

/** As in `git bisect run`. */
const cannotSay = 125;

/** What a shell means by these. The good end was run first, so if a program is missing here, that has shown. */
const shellStatuses: { readonly [status: number]: string } = {
  126: 'exit status 126: a program is not executable',
  127: 'exit status 127: a program was not found',
};

/** Signals that come from outside, so they say nothing about the code. */
const fromOutside: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM'];

/** What the end of the command says about the code. */
export function judgeEnd(
  end: Exclude<RunEnd, { how: 'aborted' }>,
  timeout: Millis,
): Pick<Outcome, 'verdict' | 'why'> {
  switch (end.how) {
    case 'exited': {
      const { status } = end;
      if (status === 0) return { verdict: 'good', why: 'exit status 0' };
      if (status === cannotSay) return { verdict: 'skip', why: 'exit status 125' };
      const killed = fromOutside.find((signal) => status === 128 + constants.signals[signal]);
      return killed
        ? judgeSignal(killed)
        : { verdict: 'bad', why: shellStatuses[status] ?? `exit status ${status}` };
    }
    case 'signalled':
      return judgeSignal(end.signal);
    case 'timed_out': {
      const after = timeout < 1_000 ? `${timeout}ms` : formatAge(timeout);
      return { verdict: 'bad', why: `timed out after ${after}${describeRemaining(end.left)}` };
    }
    case 'not_started':
      return { verdict: end.isMissing ? 'bad' : 'skip', why: end.reason };
  }
}

function judgeSignal(signal: NodeJS.Signals): Pick<Outcome, 'verdict' | 'why'> {
  return fromOutside.includes(signal)
    ? { verdict: 'skip', why: `another program ended it (${signal})` }
    : { verdict: 'bad', why: `ended by ${signal}` };
}

/** No root process: the marker alone identifies the tree. */
const noRoot = { pid: 0, startedAt: '' };

/** Ends what a try started and left running: it would disturb the next one, and keep its folder from being removed. */
export async function endLeftovers(marker: string): Promise<void> {
  if (listTree(noRoot, marker).length === 0) return;
  await endTree(noRoot, {
    marker,
    signals: [
      { signal: 'SIGTERM', grace: 1_000 },
      { signal: 'SIGKILL', grace: 2_000 },
    ],
  });
}
