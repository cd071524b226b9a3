import { availableParallelism } from 'node:os';
import { type Clock, realClock, realRandom } from '../system/clock.ts';
import { describeLeft } from '../system/process-table.ts';
import { type RunEnd, run } from '../system/run.ts';
import type { Environment } from '../system/spawn.ts';
import { formatAge } from '../units.ts';
import type { Gate, GateCommand, GateOutcome } from './gate.ts';
import { keepTail } from './output-tail.ts';

export type GateProgress =
  | { readonly name: string; readonly phase: 'started' | 'fixing' }
  | { readonly name: string; readonly phase: 'ended'; readonly outcome: GateOutcome };

export type HarnessOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly onProgress?: (progress: GateProgress) => void;
  /** Ends what runs, and skips the rest. */
  readonly signal?: AbortSignal;
  /** How many gates may run at once. */
  readonly jobs?: number;
  readonly clock?: Clock;
  /** Takes out of what a gate prints what must not be kept. */
  readonly redact: (text: string) => Promise<string>;
};

/** How much of what a gate prints is kept, in characters. */
export const maxGateOutput = 5_000;

/**
 * Runs the gates and says what came of each, in their order. Those with a `fix` come first and one at a time,
 * because a fix changes the files the others look at; then all others at once, as many as `jobs` allows;
 * then the builds, because they write what a test may be reading.
 */
export async function runGates(gates: readonly Gate[], options: HarnessOptions): Promise<GateOutcome[]> {
  const outcomes = new Map<Gate, GateOutcome>();
  const runAll = (some: readonly Gate[], jobs: number) =>
    shareOut(some, jobs, async (gate) => {
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

async function shareOut<T>(
  items: readonly T[],
  jobs: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const takeTurns = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.trunc(jobs) || 1) }, takeTurns));
}

async function runGate(gate: Gate, options: HarnessOptions): Promise<GateOutcome> {
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

/** The gate's second result; where neither helped, with what the fix had to say. */
async function fixAndRunAgain(gate: Gate, fix: GateCommand, options: HarnessOptions): Promise<Result> {
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
  command: GateCommand,
  { cwd, env, signal, redact }: HarnessOptions,
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
  const { status, remark } = judge(end, gate);
  if (remark !== null) output.add(`\n${remark}\n`);
  return { status, output: await output.read(redact) };
}

/** What an end means for the gate, and what its own output does not say of it. */
function judge(end: RunEnd, { timeout }: Gate): { status: GateOutcome['status']; remark: string | null } {
  switch (end.how) {
    case 'exited':
      if (end.status === 0) return { status: 'passed', remark: null };
      // A shell's way to say that there is no such program: that says nothing of the code.
      if (end.status === 127) return { status: 'skipped', remark: 'its program is not installed here' };
      return { status: 'failed', remark: `exit status ${end.status}` };
    case 'signalled':
      return { status: 'failed', remark: `ended by ${end.signal}` };
    case 'timed_out':
      return {
        status: 'timed_out',
        remark: `timed out after ${timeout < 1_000 ? `${timeout}ms` : formatAge(timeout)}${describeLeft(end.left)}`,
      };
    case 'aborted':
      return { status: 'skipped', remark: `interrupted${describeLeft(end.left)}` };
    case 'not_started':
      return { status: end.isMissing ? 'skipped' : 'failed', remark: `could not be started: ${end.reason}` };
  }
}

/** Inside a git hook they name the user's repository and index: a test that uses git would write there. */
function withoutGit(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
}
