import { availableParallelism } from 'node:os';
import type { CommandLine } from '../config/load.ts';
import { keepTail } from '../redact/output-tail.ts';
import { type Clock, realClock, realRandom } from '../system/clock.ts';
import { type RunEnd, run } from '../system/process/capture.ts';
import { describeRemaining } from '../system/process/process-table.ts';
import type { Environment } from '../system/process/spawn.ts';
import { formatAge } from '../units.ts';
import type { Gate, GateOutcome } from './gate.ts';

export type GateProgress =
  | { readonly name: string; readonly phase: 'started' | 'fixing' }
  | { readonly name: string; readonly phase: 'ended'; readonly outcome: GateOutcome };

export type GateRunOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly onProgress?: (progress: GateProgress) => void;
  /** Stops running gates, and skips the rest. */
  readonly signal?: AbortSignal;
  /** How many gates may run at once. */
  readonly jobs?: number;
  readonly clock?: Clock;
  /** Removes secrets from a gate's output. */
  readonly redact: (text: string) => Promise<string>;
};

/** How much of a gate's output is kept, in characters. */
const maxGateOutput = 5_000;

/**
 * Runs the gates and returns their outcomes in order. Gates with a `fix` run first and one at a time, because a fix
 * changes files the others read; then all others at once, as many as `jobs` allows; then the builds, because they write
 * files a test may be reading.
 */
export async function runGates(gates: readonly Gate[], options: GateRunOptions): Promise<GateOutcome[]> {
  const outcomes = new Map<Gate, GateOutcome>();
  const runAll = (some: readonly Gate[], jobs: number) =>
    runInParallel(some, jobs, async (gate) => {
      outcomes.set(gate, await runGate(gate, options));
    });
  const builds = gates.filter(isBuild);
  const others = gates.filter((gate) => !isBuild(gate));
  await runAll(
    others.filter(({ fix }) => fix !== null),
    1,
  );
  await runAll(
    others.filter(({ fix }) => fix === null),
    options.jobs ?? Math.min(4, availableParallelism()),
  );
  await runAll(builds, 1);
  return gates.flatMap((gate) => outcomes.get(gate) ?? []);
}

function isBuild({ name }: Gate): boolean {
  return /(^|:)build$/.test(name);
}

async function runInParallel<T>(
  items: readonly T[],
  jobs: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const workThrough = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.trunc(jobs) || 1) }, workThrough));
}

async function runGate(gate: Gate, options: GateRunOptions): Promise<GateOutcome> {
  const { clock = realClock, onProgress = () => {}, signal } = options;
  const { name } = gate;
  const began = clock.elapsed();
  if (!signal?.aborted) onProgress({ name, phase: 'started' });
  let result = await runOnce(gate, gate.run, options);
  const isFixable = result.status === 'failed' && gate.fix !== null;
  if (isFixable) {
    onProgress({ name, phase: 'fixing' });
    result = await fixAndRunAgain(gate, gate.fix, options);
  }
  const outcome: GateOutcome = {
    name,
    ...result,
    durationMs: Math.round(clock.elapsed() - began),
    fixed: isFixable && result.status === 'passed',
  };
  onProgress({ name, phase: 'ended', outcome });
  return outcome;
}

/** Returns the gate's second result, with the fix's output if that failed too. */
async function fixAndRunAgain(gate: Gate, fix: CommandLine, options: GateRunOptions): Promise<Result> {
  const repair = await runOnce(gate, fix, options);
  const again = await runOnce(gate, gate.run, options);
  if (again.status === 'passed' || repair.status === 'passed') return again;
  const both = keepTail(maxGateOutput);
  both.add(`The fix failed:\n${repair.output}\n\n${again.output}`);
  return { status: again.status, output: await both.read(options.redact) };
}

type Result = Pick<GateOutcome, 'status' | 'output'>;

async function runOnce(
  gate: Gate,
  command: CommandLine,
  { cwd, env, signal, redact }: GateRunOptions,
): Promise<Result> {
  const output = keepTail(maxGateOutput);
  const end = await run({
    command,
    cwd,
    env: withoutGit(env),
    marker: `ORCH_GATE=${realRandom.id(16)}`,
    timeout: gate.timeout,
    ...(signal === undefined ? {} : { signal }),
    onOutput: output.add,
  });
  const { status, remark } = interpretEnd(end, gate);
  if (remark !== null) output.add(`\n${remark}\n`);
  return { status, output: await output.read(redact) };
}

/** What the end of its process means for a gate, with a remark that its own output lacks. */
function interpretEnd(
  end: RunEnd,
  { timeout }: Gate,
): { status: GateOutcome['status']; remark: string | null } {
  switch (end.how) {
    case 'exited':
      if (end.status === 0) return { status: 'passed', remark: null };
      // The shell did not find the program, which says nothing about the code.
      if (end.status === 127) return { status: 'skipped', remark: 'its program is not installed here' };
      return { status: 'failed', remark: `exit status ${end.status}` };
    case 'signalled':
      return { status: 'failed', remark: `ended by ${end.signal}` };
    case 'timed_out':
      return {
        status: 'timed_out',
        remark: `timed out after ${timeout < 1_000 ? `${timeout}ms` : formatAge(timeout)}${describeRemaining(end.left)}`,
      };
    case 'aborted':
      return { status: 'skipped', remark: `interrupted${describeRemaining(end.left)}` };
    case 'not_started':
      return { status: end.isMissing ? 'skipped' : 'failed', remark: `could not be started: ${end.reason}` };
  }
}

/** In a git hook these variables name the user's repository and index, and a test that uses git would write there. */
function withoutGit(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
}
