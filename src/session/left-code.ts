import { type Checkpoint, walkEpic } from '../checkpoint/list.ts';
import { isWork, searchedBack } from '../checkpoint/names.ts';
import { lookUp } from '../keyed.ts';
import type { SessionId } from '../types.ts';
import type { EpicView } from './context.ts';
import { listOwnJournals } from './fate.ts';
import type { SessionPorts } from './record.ts';

/** The code that a session left, with its last checkpoint. */
export type LeftCode = {
  readonly checkpoint: Checkpoint;
  /** Did this clone save it? Then the files here are what it left. */
  readonly isOwn: boolean;
};

/**
 * The newest code of an epic, and behind it the code of sessions that worked at the same time: after a take-over both
 * may go on, and neither has what the other did.
 */
export async function findLeftCode(ports: SessionPorts, view: EpicView): Promise<LeftCode[]> {
  const own = listOwnJournals(view, ports.home);
  const writer = await ports.identifyWriter();
  const isOwn = (session: SessionId) =>
    own.has(session) || lookUp(view.state.sessions, session)?.value.writer === writer;
  const found = new Map<SessionId, Checkpoint>();
  let began = Number.POSITIVE_INFINITY;
  let number = Number.POSITIVE_INFINITY;
  for await (const { checkpoint } of walkEpic(ports, view.epic, () => {}, searchedBack)) {
    const { sessionId, sessionNumber, snapshot, timestamp } = checkpoint;
    if (!isWork(checkpoint) || found.has(sessionId)) continue;
    const isFirst = found.size === 0;
    if (isFirst) {
      began = lookUp(view.state.sessions, sessionId)?.value.startedAt ?? began;
      number = sessionNumber;
    }
    // One that began later and saved earlier was there at the same time, and so was one that saved after this one began.
    const isBeside = sessionNumber > number || Date.parse(timestamp) > began;
    const isSame = [...found.values()].some((other) => other.snapshot === snapshot);
    if (isFirst || (isBeside && !isSame && snapshot !== null)) found.set(sessionId, checkpoint);
  }
  return [...found.values()]
    .filter(({ snapshot }) => snapshot !== null)
    .map((checkpoint) => ({ checkpoint, isOwn: isOwn(checkpoint.sessionId) }));
}
