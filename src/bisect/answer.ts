import type { Checkpoint } from '../checkpoint/list.ts';
import { nameUniquely } from '../checkpoint/names.ts';
import { readSaved } from '../checkpoint/read-base.ts';
import { nullFor } from '../errors.ts';
import { listFileChanges } from '../git/worktree/code-changes.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { summarizeSession } from '../record/sessions.ts';
import { readCurrent } from '../state/current.ts';
import { quoteForShell } from '../text.ts';
import type { EpicId, Millis } from '../types.ts';
import { toUsd } from '../units.ts';
import type { KeptResults } from './kept-results.ts';
import { type Found, type Source, type Subject, type Try, wordOf } from './search.ts';
import type { Version } from './versions.ts';

export type BisectResult = {
  readonly epicId: EpicId;
  /** The gate or the command that was searched with; the other is null. */
  readonly gate: string | null;
  readonly command: readonly string[] | null;
  /** `ambiguous`: some that may be the first bad one could not be judged. */
  readonly status: 'found' | 'ambiguous';
  /** The first bad checkpoint; if ambiguous, the first that is known to be bad. */
  readonly firstBad: Checkpoint;
  readonly lastGood: Checkpoint;
  /** Those that may be the first bad one, the oldest first. */
  readonly candidates: readonly Checkpoint[];
  /** How each side of the answer is known. */
  readonly evidence: { readonly firstBad: Evidence; readonly lastGood: Evidence };
  readonly session: { readonly id: string; readonly number: number; readonly agent: string | null };
  /** The user's last request before the first bad checkpoint. */
  readonly asked: string | null;
  readonly diff: {
    readonly files: number;
    readonly additions: number;
    readonly deletions: number;
    readonly changed: readonly {
      readonly path: string;
      readonly status: 'added' | 'modified' | 'deleted';
      readonly additions: number | null;
      readonly deletions: number | null;
    }[];
    /** Shows all of it. */
    readonly command: string;
  };
  /** What was spent between the two. */
  readonly costUsd: number;
  /** Everything that is known between the bounds, the oldest first, except what this call ran: that is at the end. */
  readonly tries: readonly BisectTry[];
  /** Those that could not be judged. */
  readonly skipped: readonly Checkpoint[];
  /** How many checkpoints between the bounds have no code here. */
  readonly withoutCode: number;
  readonly elapsedMs: Millis;
};

export type Evidence = { readonly from: Source; readonly why: string | null; readonly output: string };

export type BisectTry = {
  readonly checkpoint: Checkpoint;
  readonly result: 'good' | 'bad' | 'skipped';
  /** Null if the record does not say. */
  readonly durationMs: Millis | null;
  readonly from: Source;
  readonly why: string | null;
};

type Answered = Found & {
  readonly epic: EpicId;
  readonly subject: Subject;
  readonly results: KeptResults;
};

/** Gathers what a person wants to know about the change that was found. */
export async function describeAnswer(
  orch: Orch,
  answered: Answered,
  elapsedMs: Millis,
): Promise<BisectResult> {
  const { epic, subject, good, bad, between, bounds } = answered;
  const [changes, saved, from, to] = await Promise.all([
    listFileChanges(orch.repository, good.tree, bad.tree),
    readSaved(orch.git, epic, bad.found.commit).catch(nullFor('INTEGRITY')),
    nameUniquely(orch, good.checkpoint),
    nameUniquely(orch, bad.checkpoint),
  ]);
  const state = saved?.document.state ?? null;
  const { sessionId, sessionNumber } = bad.checkpoint;
  const asked =
    state && (summarizeSession(state, sessionId).asked.at(-1) ?? readCurrent(state, 'asked')?.text);
  const sum = (key: 'added' | 'removed') => changes.reduce((total, change) => total + (change[key] ?? 0), 0);
  const tries = listTries(answered);
  return {
    epicId: epic,
    gate: subject.gate,
    command: subject.gate === null ? [subject.command].flat() : null,
    status: between.length === 0 ? 'found' : 'ambiguous',
    firstBad: bad.checkpoint,
    lastGood: good.checkpoint,
    candidates: [...between, bad].map(({ checkpoint }) => checkpoint),
    evidence: { firstBad: evidenceOf(answered, bad), lastGood: evidenceOf(answered, good) },
    session: {
      id: sessionId,
      number: sessionNumber,
      agent: (state && lookUp(state.sessions, sessionId)?.value.agent) ?? null,
    },
    asked: asked ?? null,
    diff: {
      files: changes.length,
      additions: sum('added'),
      deletions: sum('removed'),
      changed: changes.map(({ path, change, added, removed }) => {
        return { path, status: change, additions: added, deletions: removed };
      }),
      command: quoteForShell(['orch', 'diff', from, to, '-e', epic]),
    },
    costUsd: toUsd(Math.max(0, Math.round((bad.checkpoint.costUsd - good.checkpoint.costUsd) * 1_000_000))),
    tries,
    skipped: tries.flatMap(({ checkpoint, result }) => (result === 'skipped' ? [checkpoint] : [])),
    withoutCode: bounds.withoutCode,
    elapsedMs: Math.round(elapsedMs),
  };
}

function sourceOf(
  { results, tries }: Answered,
  { tree, checkpoint }: Version,
  run: readonly Try[] = tries,
): Source {
  if (results.get(tree) === undefined) return 'record';
  if (run.some((each) => each.checkpoint.id === checkpoint.id)) return 'run';
  return results.isEarlier(tree) ? 'earlier run' : 'run';
}

function evidenceOf(answered: Answered, version: Version): Evidence {
  const outcome = answered.results.get(version.tree);
  return { from: sourceOf(answered, version), why: outcome?.why ?? null, output: outcome?.output ?? '' };
}

/** One entry for each version of the code that is known to be good, bad or impossible to judge. */
function listTries(answered: Answered): BisectTry[] {
  const { bounds, results, tries } = answered;
  const seen = new Set(
    tries.flatMap(
      ({ checkpoint }) => bounds.versions.find((version) => version.checkpoint === checkpoint)?.tree ?? [],
    ),
  );
  const known = bounds.versions.flatMap((version): BisectTry[] => {
    const { tree, checkpoint } = version;
    const outcome = results.get(tree);
    const verdict = outcome?.verdict ?? bounds.recorded.get(tree);
    if (verdict === undefined || seen.has(tree)) return [];
    seen.add(tree);
    const from = sourceOf(answered, version);
    return [
      {
        checkpoint,
        result: wordOf(verdict),
        durationMs: outcome?.durationMs ?? null,
        from,
        why: outcome?.why ?? null,
      },
    ];
  });
  const run = tries.map(({ checkpoint, verdict, durationMs, from, why }): BisectTry => {
    return { checkpoint, result: wordOf(verdict), durationMs, from, why };
  });
  return [...known, ...run];
}
