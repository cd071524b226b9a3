import { isCheckpointId, isEpicId, isOid, isRunId, isSessionId, isWriterId } from '../ids.ts';
import type { Entry, State } from '../state/lists.ts';
import { runOf } from '../state/run.ts';
import type { DocumentContent } from './document.ts';

/*
 * Ids become refs, file names, trailers and arguments. The types say that they are ids; a document from elsewhere only
 * claims so. It is checked here, once, where it comes in; everything behind relies on it.
 */

type Check = (text: unknown) => boolean;

const orNull =
  (check: Check): Check =>
  (text) =>
    text === null || check(text);

/** Which of a document's ids is none, or null where all are. Its shape has been checked before. */
export function findIdProblem(content: DocumentContent): string | null {
  for (const [place, text, check] of listIds(content))
    if (!check(text)) return `${place}: ${JSON.stringify(text)?.slice(0, 80)} is not an id`;
  return null;
}

type Claim = readonly [place: string, text: unknown, check: Check];

function* listIds(content: DocumentContent): Generator<Claim> {
  yield ['id', content.id, isCheckpointId];
  yield ['epicId', content.epicId, (text) => typeof text === 'string' && isEpicId(text)];
  yield ['sessionId', content.sessionId, isSessionId];
  yield ['writer', content.writer, isWriterId];
  yield ['gitCommit', content.gitCommit, orNull(isOid)];
  yield ['snapshot', content.snapshot, orNull(isOid)];
  for (const { by, session } of content.events) {
    yield ['events.by', by, isWriterId];
    yield ['events.session', session, isSessionId];
  }
  yield* listStateIds(content.state);
}

function* listStateIds(state: State): Generator<Claim> {
  const { current, sessions, gates, runs, ledger } = state;
  for (const [id, { value }] of Object.entries(sessions)) {
    yield ['state.sessions', id, isSessionId];
    yield ['state.sessions.writer', value.writer, isWriterId];
    yield ['state.sessions.parentSessionId', value.parentSessionId, orNull(isSessionId)];
    yield ['state.sessions.latestCheckpointId', value.latestCheckpointId, orNull(isCheckpointId)];
  }
  for (const [writer, { value }] of Object.entries(ledger)) {
    yield ['state.ledger', writer, isWriterId];
    for (const session of Object.keys(value.folded)) yield ['state.ledger.folded', session, isSessionId];
  }
  for (const [key, { value }] of Object.entries(runs)) {
    yield ['state.runs', runOf(key), (text) => typeof text === 'string' && isRunId(text)];
    yield ['state.runs', key.slice(runOf(key).length + 1), isSessionId];
    if (value.head) yield ['state.runs.head.session', value.head.session, isSessionId];
  }
  for (const { value } of Object.values(gates)) yield ['state.gates.tree', value.tree, orNull(isOid)];
  const { notes, blockers, tried, decisions, files, issues } = state;
  for (const list of [notes, blockers, tried, decisions, files, issues, gates])
    for (const { value } of Object.values<Entry<{ readonly session: unknown }>>(list))
      yield ['session of an entry', value.session, isSessionId];
  for (const list of [
    current,
    sessions,
    notes,
    blockers,
    tried,
    decisions,
    files,
    issues,
    gates,
    runs,
    ledger,
  ])
    for (const { stamp } of Object.values<Entry<unknown>>(list)) yield ['stamp', stamp[1], isWriterId];
}
