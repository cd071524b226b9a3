import { compactRow, rowIsLong, withTotals } from '../cost/ledger.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import { join } from '../state/join.ts';
import type { Commit, List, Stamp, State } from '../state/lists.ts';
import type { CheckpointId, GateColour, Json, Oid, SessionId } from '../types.ts';
import { latestTime, maxCount } from '../units.ts';
import type { CodeUpdate, Draft } from './compose.ts';

/** What the gates said of exactly this tree. */
export function colourOf(state: State, tree: Oid | null): GateColour {
  const results = Object.values(state.gates).flatMap(({ value }) =>
    value.tree === tree && value.status !== 'skipped' ? [value.status] : [],
  );
  if (tree === null || results.length === 0) return 'unknown';
  return results.every((status) => status === 'passed') ? 'green' : 'red';
}

/**
 * What making a checkpoint itself changes: its session has one more, a green one is remembered, this writer's row
 * of the ledger is summed up when it got long, and what each writer has used is written down.
 */
export function countCheckpoint(
  state: State,
  draft: Draft,
  { id, seq }: { readonly id: CheckpointId; readonly seq: number },
): State {
  const stamp = [Math.min(state.clock + 1, latestTime), draft.writer, 0] as const;
  const session = lookUp(state.sessions, draft.sessionId)?.value;
  const row = lookUp(state.ledger, draft.writer)?.value;
  // The session that calls share goes on without a journal of its name.
  const isOver = (other: string) =>
    other !== draft.sessionId && !draft.journals.some((journal) => journal === other);
  const tree = draft.snapshot?.tree ?? null;
  const counted = join(state, {
    clock: stamp[0],
    ...(session && {
      sessions: {
        [draft.sessionId]: {
          value: {
            ...session,
            checkpoints: Math.min(session.checkpoints + 1, maxCount),
            latestCheckpointId: id,
          },
          stamp,
        },
      },
    }),
    current: {
      ...(colourOf(state, tree) === 'green' && { lastGreen: { value: { id, seq, tree }, stamp } }),
      ...(draft.code && sayCode(draft.code, state, stamp)),
    },
    ...(draft.code && { commits: listCommits(draft.code, draft.sessionId, stamp) }),
    ...(row && rowIsLong(row) && { ledger: { [draft.writer]: { value: compactRow(row, isOver), stamp } } }),
  });
  return { ...counted, ledger: withTotals(counted.ledger) };
}

/** Where the epic began is said once. */
function sayCode({ base, changes }: CodeUpdate, state: State, stamp: Stamp): List<Json> {
  const named = changes.named.map((file) => ({ ...file }));
  const isFirst = base !== null && readCurrent(state, 'base') === null;
  return {
    changes: { value: { ...changes, named }, stamp },
    ...(isFirst && { base: { value: { commit: base }, stamp } }),
  };
}

/** Commits in their order: each a step later than the one before. */
function listCommits({ commits }: CodeUpdate, session: SessionId, [at, by]: Stamp): List<Commit> {
  return Object.fromEntries(
    commits.map(({ oid, subject }, place) => [oid, { value: { subject, session }, stamp: [at, by, place] }]),
  );
}
