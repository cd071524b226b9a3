import type { Gate, GateOutcome } from '../../gates/gate.ts';
import { listGates } from '../../gates/run-baseline.ts';
import { type GateProgress, runGates } from '../../gates/run-gates.ts';
import { workFolder } from '../../git/run-git.ts';
import type { Orch } from '../../orch.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import type { Millis, Oid } from '../../types.ts';
import type { MergePlace } from './try-merge.ts';

/* The gates of a convoy, in the worktree of the merged branch. */

/** Which gates have to pass: those of the repository, some of them, or none. */
export type GateChoice = 'auto' | 'none' | readonly string[];

export type MergeGates = {
  readonly redAtBase: readonly string[];
  /** How many there are to pass. */
  count(): Promise<number>;
  /** Runs the gates on exactly a commit, or again those that were red, and returns those that are red now. */
  run(
    commit: Oid,
    again: readonly GateOutcome[] | null,
    signal: AbortSignal,
  ): Promise<readonly GateOutcome[]>;
};

/** Opens the gates of a convoy. Those that are red twice at its base are not run again. */
export async function openMergeGates(
  orch: Orch,
  place: MergePlace,
  choice: GateChoice,
  base: Oid,
  onGate: OnGate = () => {},
): Promise<MergeGates> {
  const folder = workFolder(place.worktree);
  const choose = async (): Promise<Gate[]> => {
    const found = listGates(await orch.readConfig(), folder);
    const chosen = choice === 'auto' ? found : found.filter(({ name }) => choice.includes(name));
    // What a gate passes after its fix is another tree than the one that is merged.
    return chosen.map((gate) => ({ ...gate, fix: null }));
  };
  const runSome = async (commit: Oid, wanted: (gate: Gate) => boolean, signal: AbortSignal) => {
    if (choice === 'none') return [];
    await place.show(commit);
    const gates = (await choose()).filter(wanted);
    if (gates.length === 0) return [];
    place.disturb();
    const { clock, redact } = orch;
    const onProgress = timeGates(clock, onGate);
    const options = { cwd: folder, env: inheritedEnvironment(), clock, redact, signal, onProgress };
    return (await runGates(gates, options)).filter(isRed);
  };

  const { signal } = new AbortController();
  const first = await runSome(base, () => true, signal);
  const red = first.length === 0 ? [] : await runSome(base, named(first), signal);
  const redAtBase = red.map(({ name }) => name);
  if (typeof choice !== 'string') {
    const known = (await choose()).map(({ name }) => name);
    const unknown = choice.filter((name) => !known.includes(name));
    if (unknown.length > 0)
      orch.report(
        `merge.gates names gates that do not exist here: ${unknown.join(', ')}; nothing checks them`,
      );
  }
  return {
    redAtBase,
    count: async () => {
      const wanted = choice === 'none' ? [] : await choose();
      return wanted.filter(({ name }) => !redAtBase.includes(name)).length;
    },
    run: (commit, again, signal) =>
      runSome(commit, again === null ? ({ name }) => !redAtBase.includes(name) : named(again), signal),
  };
}

/** Called with each run of a gate, for those who want to know how long it took. */
export type OnGate = (run: {
  readonly gate: string;
  readonly status: GateOutcome['status'];
  readonly startedAt: Millis;
  readonly endedAt: Millis;
}) => void;

function timeGates({ now }: { now(): Millis }, onGate: OnGate): (progress: GateProgress) => void {
  const started = new Map<string, Millis>();
  return (progress) => {
    const { name: gate } = progress;
    if (progress.phase === 'started') started.set(gate, now());
    if (progress.phase !== 'ended') return;
    const endedAt = now();
    onGate({ gate, status: progress.outcome.status, startedAt: started.get(gate) ?? endedAt, endedAt });
  };
}

function isRed({ status }: GateOutcome): boolean {
  return status === 'failed' || status === 'timed_out';
}

function named(outcomes: readonly GateOutcome[]) {
  const names = outcomes.map(({ name }) => name);
  return ({ name }: Gate) => names.includes(name);
}
