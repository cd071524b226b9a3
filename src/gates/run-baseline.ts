import { parseTestOutput } from '../agents/calls/test-output.ts';
import type { Config } from '../config/load.ts';
import { lookUp } from '../keyed.ts';
import { treeWithoutMark } from '../orchestration-file/orchestration-file.ts';
import type { SessionPorts } from '../record/ports.ts';
import type { Outcome } from '../record/record.ts';
import { readView } from '../record/view.ts';
import type { Destination } from '../record/which/which-session.ts';
import { recordTo } from '../session/calls.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { inheritedEnvironment } from '../system/process/spawn.ts';
import { cutToEnd, maxTextBytes } from '../text.ts';
import type { Millis, Oid, SessionId, Trigger } from '../types.ts';
import { findGates } from './find-gates.ts';
import { type BaselineResult, type Gate, type GateOutcome, makeBaselineResult } from './gate.ts';
import { type GateProgress, runGates } from './run-gates.ts';

export type BaselinePorts = SessionPorts & {
  /** The tree of the current files; null if it can't be read. */
  readonly readTree: (maxFileBytes: number) => Promise<Oid | null>;
};

type BaselineRequest = {
  readonly place: Destination;
  readonly worktree: string;
  readonly gates: readonly Gate[];
  /** Is the session just starting? Then whatever fails was failing before it. */
  readonly atStart: boolean;
  readonly onProgress?: (progress: GateProgress) => void;
  readonly signal?: AbortSignal;
  /** The trigger of the checkpoint with the results; null: they wait for the next checkpoint. */
  readonly trigger?: Trigger | null;
  /** Asked when the gates are done: are results for this tree still of use? Null: the files changed meanwhile. */
  readonly isRelevant?: (tree: Oid | null) => boolean;
};

export type Baseline = BaselineResult & { readonly tree: Oid | null; readonly outcome: Outcome | null };

/** Lists a repository's gates: the configured ones, or else those found. */
export function listGates(config: Pick<Config, 'gates'>, worktree: string): readonly Gate[] {
  return config.gates === 'auto' ? findGates(worktree) : config.gates;
}

/**
 * Runs the gates, and records the results for exactly the files they ran on. If the files changed meanwhile, the results
 * belong to no tree. A failing gate becomes a blocker, which is resolved when it passes.
 */
export async function runBaseline(ports: BaselinePorts, request: BaselineRequest): Promise<Baseline> {
  const { place, gates, worktree, onProgress, signal, atStart, isRelevant = () => true } = request;
  const readTree = () => readTreeWithoutMark(ports, place.settings.maxFileBytes);
  const before = await readTree();
  const outcomes = await runGates(gates, {
    cwd: worktree,
    env: inheritedEnvironment(),
    clock: ports.clock,
    redact: ports.redact,
    ...(onProgress && { onProgress }),
    ...(signal && { signal }),
  });
  const result = makeBaselineResult(outcomes);
  if (signal?.aborted || outcomes.length === 0) return { ...result, tree: null, outcome: null };
  const tree = before !== null && (await readTree()) === before ? before : null;
  if (!isRelevant(tree)) return { ...result, tree, outcome: null };
  const { state } = await readView(ports, place.epic);
  const session = place.kind === 'running' ? place.session : null;
  const facts = describeResults(outcomes, { state, session, tree, atStart, at: ports.clock.now() });
  const colour = result.passed ? 'green' : 'red';
  const reason = `Gates ${colour}: ${outcomes.map(({ name, status }) => `${name} ${status}`).join(', ')}`;
  const { trigger = atStart ? 'session_start' : 'manual' } = request;
  const outcome = await recordTo(ports, place, facts, trigger && { trigger, reason });
  return { ...result, tree, outcome };
}

/** Reads the tree of the current files, without what orch wrote into them: results are bound to it. */
export async function readTreeWithoutMark(ports: BaselinePorts, maxFileBytes: number): Promise<Oid | null> {
  const tree = await ports.readTree(maxFileBytes);
  return tree && treeWithoutMark(ports, tree);
}

type ResultContext = {
  readonly state: State;
  readonly session: SessionId | null;
  readonly tree: Oid | null;
  readonly atStart: boolean;
  readonly at: Millis;
};

/** Turns the results into facts. */
export function describeResults(outcomes: readonly GateOutcome[], context: ResultContext): Fact[] {
  const all = [...outcomes, ...listRemoved(outcomes, context.state)];
  return all.flatMap((outcome) => [gateFact(outcome, context), ...blockerFacts(outcome, context)]);
}

/** Red gates that no longer exist are marked as skipped, because they could never turn green again. */
function listRemoved(outcomes: readonly GateOutcome[], { gates }: State): GateOutcome[] {
  const names = new Set(outcomes.map(({ name }) => name));
  return Object.entries(gates)
    .filter(([name, { value }]) => isRed(value.status) && !names.has(name))
    .map(([name]) => ({ name, status: 'skipped', durationMs: 0, output: 'no longer a gate', fixed: false }));
}

const isRed = (status: string | undefined) => status === 'failed' || status === 'timed_out';

function gateFact({ name, status, durationMs, output }: GateOutcome, context: ResultContext): Fact {
  const last = lookUp(context.state.gates, name)?.value;
  // Red in an earlier session, or red since before this one began.
  const wasRed = isRed(last?.status) && (last?.session !== context.session || last?.knownBefore === true);
  const knownBefore = isRed(status) && (wasRed || (last === undefined && context.atStart));
  // A fact keeps the start of a long text, but the failures are at the end.
  const end = cutToEnd(output, maxTextBytes);
  const tests = isRed(status) ? parseTestOutput(output) : null;
  const failing = tests?.failing.map((test) => ({ name: test, why: lookUp(tests.why ?? {}, test) ?? null }));
  return {
    kind: 'gate',
    name,
    status,
    durationMs,
    tree: context.tree,
    output: end,
    ...(failing && failing.length > 0 && { failing }),
    knownBefore,
  };
}

function blockerFacts({ name, status }: GateOutcome, { state, at }: ResultContext): Fact[] {
  const id = `gate:${name}`;
  const open = lookUp(state.blockers, id)?.value;
  if (isRed(status)) {
    const text = `gate ${name} ${status === 'timed_out' ? 'timed out' : 'fails'}`;
    return [{ kind: 'blocker', id, text, resolvedAt: null }];
  }
  // A skipped gate counts as resolved: if the user interrupts the gates, nothing is recorded.
  const isSolved = open !== undefined && open.resolvedAt === null;
  return isSolved ? [{ kind: 'blocker', id, text: open.text, resolvedAt: at }] : [];
}
