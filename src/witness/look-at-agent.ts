import { type RecentStep, readRecentSteps, withoutNumbers } from '../agents/transcript/recent-steps.ts';
import { readLink } from '../session/agent/agent-link.ts';
import { readWaiting } from '../session/agent/agent-waiting.ts';
import { listOpenQuestions } from '../session/epic-status.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/disk.ts';
import { measureTree } from '../system/process/tree-work.ts';
import { cleanLine } from '../text.ts';
import type { Millis, SessionId } from '../types.ts';
import type { Sighting } from './judge.ts';
import { findRepetition, type Repetition } from './repetition.ts';

/* Looks at an agent from outside: its processes, its conversation, what it prints, the files it changes. */

/** What is looked at. */
export type Watched = {
  readonly home: string;
  readonly session: SessionId;
  readonly state: State;
  /** The agent's process; null if this machine did not start it. */
  readonly pid: number | null;
  readonly isAlive: boolean;
  /** What it prints; null if that is not seen. */
  readonly printed: Printed | null;
};

/** What an agent has printed. */
export type Printed = {
  readonly bytes: number;
  /** The last of it. */
  readonly tail: string;
};

/** What was read from files is kept until they grow. */
export type LookCache = {
  size: number;
  printed: number;
  steps: { readonly done: readonly RecentStep[]; readonly running: string | null };
};

export const emptyCache = (): LookCache => ({ size: -1, printed: 0, steps: { done: [], running: null } });

/** Looks at an agent. `awake`: how long this machine has been awake since the last look. */
export function lookAtAgent(watched: Watched, cache: LookCache, awake: Millis): Sighting {
  const { home, session, state, pid } = watched;
  const tree = pid === null ? null : measureTree(pid);
  const transcripts = readLink(home, session)?.transcripts ?? [];
  const sizes = transcripts.map((path) => statIfThere(path)?.size ?? 0);
  const printed = watched.printed?.bytes ?? 0;
  const said = sizes.reduce((sum, size) => sum + size, printed);
  // The conversation that is written to now.
  const newest = transcripts.findLast((_, index) => (sizes[index] ?? 0) > 0);
  if (newest !== undefined && said !== cache.size) cache.steps = readRecentSteps(newest);
  const added = cache.size < 0 ? 0 : printed - cache.printed;
  const repetition =
    newest === undefined
      ? findRepeatedLines(watched.printed?.tail ?? '', added, awake)
      : findRepetition(cache.steps.done);
  cache.size = said;
  cache.printed = printed;
  return {
    awake,
    isAlive: watched.isAlive && (tree?.isAlive ?? true),
    isFrozen: tree?.isFrozen ?? false,
    cpu: tree,
    said,
    changed: newestChange(state),
    running: newest === undefined ? null : cache.steps.running,
    repetition,
    waiting: readWaiting(home, session),
    question: listOpenQuestions(state).find(({ waits }) => waits)?.text ?? null,
  };
}

function newestChange({ files }: State): Millis | null {
  const times = Object.values(files).map(({ stamp: [at] }) => at);
  return times.length === 0 ? null : Math.max(...times);
}

/** A line is little, and printing is not yet doing: this many alike count as one step. */
const linesPerStep = 25;
/** Who prints fewer lines a second polls, and waits for something. */
const fewLines = 0.5;

/** Finds whether an agent without a transcript prints the same few lines again and again. */
function findRepeatedLines(text: string, added: number, awake: Millis): Repetition | null {
  if (added <= 0 || awake <= 0) return null;
  const lines = text.split('\n').slice(1, -1);
  const perLine = text.length / Math.max(1, lines.length);
  if (added / perLine / (awake / 1_000) < fewLines) return null;
  const found = findRepetition(lines.map((line) => ({ key: withoutNumbers(line), what: '', at: null })));
  const last = cleanLine(lines.at(-1) ?? '', 80);
  const times = Math.floor((found?.times ?? 0) / linesPerStep);
  return times === 0 ? null : { times, words: `it prints “${last}” again and again` };
}
