import type { Config } from '../config.ts';
import { findGates } from '../integration/ecosystem.ts';
import { type BaselineResult, type Gate, type GateOutcome, makeBaselineResult } from '../integration/gate.ts';
import { type GateProgress, runGates } from '../integration/harness.ts';
import { parseTestOutput } from '../integration/test-output.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { inheritedEnvironment } from '../system/spawn.ts';
import { cutToEnd, maxTextBytes } from '../text.ts';
import type { Millis, Oid, SessionId, Trigger } from '../types.ts';
import { readView } from './context.ts';
import { type Place, recordIn } from './here.ts';
import { treeOfWork } from './orchestration.ts';
import type { Outcome, SessionPorts } from './record.ts';

export type BaselinePorts = SessionPorts & {
  /** The tree of the files as they are now; null where it cannot be had. */
  readonly readTree: (maxFileBytes: number) => Promise<Oid | null>;
};

export type BaselineRequest = {
  readonly place: Place;
  readonly worktree: string;
  readonly gates: readonly Gate[];
  /** Does the session only begin? Then whatever fails was failing before it. */
  readonly atStart: boolean;
  readonly onProgress?: (progress: GateProgress) => void;
  readonly signal?: AbortSignal;
  /** Why the checkpoint with the results is made, where not by hand; null: it waits for the next one. */
  readonly trigger?: Trigger | null;
  /** Is what they said of this tree still wanted, now that they are through? Of no tree: files changed meanwhile. */
  readonly isWanted?: (tree: Oid | null) => boolean;
};

export type Baseline = BaselineResult & { readonly tree: Oid | null; readonly outcome: Outcome | null };

/** The gates of a repository: those configured, else those found. */
export function listGates(config: Pick<Config, 'gates'>, worktree: string): readonly Gate[] {
  return config.gates === 'auto' ? findGates(worktree) : config.gates;
}

/**
 * Runs the gates, and records what they said of exactly the files they ran on. If the files changed meanwhile, what
 * they said is true of no tree. A gate that fails becomes a blocker, and no longer is one once it passes.
 */
export async function runBaseline(ports: BaselinePorts, request: BaselineRequest): Promise<Baseline> {
  const { place, gates, worktree, onProgress, signal, atStart, isWanted = () => true } = request;
  const readTree = () => readTreeOfWork(ports, place.settings.maxFileBytes);
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
  if (!isWanted(tree)) return { ...result, tree, outcome: null };
  const { state } = await readView(ports, place.epic);
  const session = place.kind === 'running' ? place.session : null;
  const facts = describeResults(outcomes, { state, session, tree, atStart, at: ports.clock.now() });
  const colour = result.passed ? 'green' : 'red';
  const reason = `Gates ${colour}: ${outcomes.map(({ name, status }) => `${name} ${status}`).join(', ')}`;
  const { trigger = atStart ? 'session_start' : 'manual' } = request;
  const outcome = await recordIn(ports, place, facts, trigger && { trigger, reason });
  return { ...result, tree, outcome };
}

/** The tree that results are bound to: of the files as they are now. */
export async function readTreeOfWork(ports: BaselinePorts, maxFileBytes: number): Promise<Oid | null> {
  const tree = await ports.readTree(maxFileBytes);
  return tree && treeOfWork(ports, tree);
}

type Around = {
  readonly state: State;
  readonly session: SessionId | null;
  readonly tree: Oid | null;
  readonly atStart: boolean;
  readonly at: Millis;
};

/** What the results say, as facts. */
export function describeResults(outcomes: readonly GateOutcome[], around: Around): Fact[] {
  const all = [...outcomes, ...listGone(outcomes, around.state)];
  return all.flatMap((outcome) => [gateFact(outcome, around), ...blockerFacts(outcome, around)]);
}

/** Gates that were red and are gate no longer: nothing could ever turn them green again. */
function listGone(outcomes: readonly GateOutcome[], { gates }: State): GateOutcome[] {
  const names = new Set(outcomes.map(({ name }) => name));
  return Object.entries(gates)
    .filter(([name, { value }]) => isRed(value.status) && !names.has(name))
    .map(([name]) => ({ name, status: 'skipped', durationMs: 0, output: 'no longer a gate', fixed: false }));
}

const isRed = (status: string | undefined) => status === 'failed' || status === 'timed_out';

function gateFact({ name, status, durationMs, output }: GateOutcome, around: Around): Fact {
  const last = lookUp(around.state.gates, name)?.value;
  // Red in an earlier session, or red since before this one began.
  const wasRed = isRed(last?.status) && (last?.session !== around.session || last?.knownBefore === true);
  const knownBefore = isRed(status) && (wasRed || (last === undefined && around.atStart));
  // Of a long text the beginning would be kept, and what failed is said at the end.
  const end = cutToEnd(output, maxTextBytes);
  const tests = isRed(status) ? parseTestOutput(output) : null;
  const failing = tests?.failing.map((test) => ({ name: test, why: lookUp(tests.why ?? {}, test) ?? null }));
  return {
    kind: 'gate',
    name,
    status,
    durationMs,
    tree: around.tree,
    output: end,
    ...(failing && failing.length > 0 && { failing }),
    knownBefore,
  };
}

function blockerFacts({ name, status }: GateOutcome, { state, at }: Around): Fact[] {
  const id = `gate:${name}`;
  const open = lookUp(state.blockers, id)?.value;
  if (isRed(status)) {
    const text = `gate ${name} ${status === 'timed_out' ? 'timed out' : 'fails'}`;
    return [{ kind: 'blocker', id, text, resolvedAt: null }];
  }
  // One that was only skipped this once does not come here: whoever interrupts the gates records nothing.
  const isSolved = open !== undefined && open.resolvedAt === null;
  return isSolved ? [{ kind: 'blocker', id, text: open.text, resolvedAt: at }] : [];
}
