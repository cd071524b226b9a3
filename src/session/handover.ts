import { join } from 'node:path';
import { findBriefSource } from '../checkpoint/brief/brief-source.ts';
import type { Brief } from '../checkpoint/brief/fit-brief.ts';
import { type ConversationState, quoteBrief } from '../checkpoint/brief/line-origins.ts';
import { findNews } from '../checkpoint/brief/since-last.ts';
import { generateResumeBrief } from '../checkpoint/brief/write-brief.ts';
import { type Checkpoint, describeCommit, walkEpic } from '../checkpoint/list.ts';
import { findCheckpoint, isWork, searchedBack } from '../checkpoint/names.ts';
import { readSaved } from '../checkpoint/read-base.ts';
import { hasCode } from '../errors.ts';
import { nameFile, parseWriterId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { SessionPorts } from '../record/ports.ts';
import { listOwnJournals } from '../record/sessions.ts';
import type { EpicView } from '../record/view.ts';
import { withoutAbandoned } from '../state/left-behind.ts';
import type { State } from '../state/lists.ts';
import type { SessionId, WriterId } from '../types.ts';

/** What the next session gets from the ones before it. */
export type Handover = {
  readonly brief: Brief;
  /** The brief for an agent, marked as quoted material. */
  readonly quoted: string;
  /** The session the brief is about; null where none has done anything yet. */
  readonly from: { readonly id: SessionId; readonly number: number } | null;
  /** The checkpoint it was taken from, where one was named. */
  readonly named: Checkpoint | null;
  /** The state at that checkpoint. */
  readonly known: State | null;
};

/** Makes the brief of an epic from its present state, or from a checkpoint's. */
export async function handOver(
  ports: SessionPorts,
  view: EpicView,
  name: string | null,
  maxTokens?: number,
): Promise<Handover> {
  const named = name === null ? null : await readNamed(ports, view, name);
  const saved = named ?? view.saved;
  const state = named?.document.state ?? view.state;
  const gates = (saved && describeCommit(saved.commit)?.gates) ?? 'unknown';
  const checkpoint = saved && { ...saved.document, gates };
  const input = { epicId: view.epic, state, checkpoint, reader: await findReader(ports) };
  const brief = generateResumeBrief(input, maxTokens === undefined ? {} : { maxTokens });
  const source = findBriefSource(withoutAbandoned(state));
  const from = source && { id: source.session, number: source.value.number };
  const quoted = quoteBrief(brief.markdown, view.epic);
  return {
    brief,
    quoted,
    from,
    named: named && describeCommit(named.commit),
    known: named?.document.state ?? null,
  };
}

/** Makes the brief for an agent's context: all of it, or after a compaction what the agent may have lost. */
export async function quoteHandover(
  ports: SessionPorts,
  view: EpicView,
  moment: Exclude<ConversationState, 'resumed'>,
): Promise<string> {
  const { brief } = await handOver(ports, view, null);
  return quoteBrief(brief.markdown, view.epic, moment);
}

/**
 * Makes the brief for a resumed conversation, which already has its own context: only what happened elsewhere since.
 * Null if nothing did; the whole brief if the conversation is unknown.
 */
export async function quoteNews(
  ports: SessionPorts,
  view: EpicView,
  conversation: string,
): Promise<string | null> {
  const state = findNews(withoutAbandoned(view.state), conversation);
  if (state === null) return quoteHandover(ports, view, 'new');
  const reader = await findReader(ports);
  const { sections, markdown } = generateResumeBrief({ epicId: view.epic, state, checkpoint: null, reader });
  const isEmpty = sections.every(({ name }) => name === 'ended');
  return isEmpty ? null : quoteBrief(markdown, view.epic, 'resumed');
}

/** A read-only clone may have no id and no way to keep one: then every line counts as another clone's. */
async function findReader(ports: SessionPorts): Promise<WriterId> {
  try {
    return await ports.identifyWriter();
  } catch (error) {
    if (!hasCode(error, 'WRITE_FAILED')) throw error;
    return parseWriterId('reader');
  }
}

/** The file with the brief of a session, for its command while that runs. */
export function briefPath(home: string, session: SessionId): string {
  return join(home, 'briefs', nameFile(session, '.md'));
}

async function readNamed(ports: SessionPorts, { epic }: EpicView, name: string) {
  const { commit } = await findCheckpoint(ports, epic, name);
  return readSaved(ports.git, epic, commit);
}

/** The code of a session, as its last checkpoint has it. */
export type SessionCode = {
  readonly checkpoint: Checkpoint;
  /** Did this clone save it? Then the files here already have it. */
  readonly isOwn: boolean;
};

/**
 * Finds the code to continue from: the epic's newest, then that of sessions that worked at the same time. After a
 * take-over both sessions may keep working, and neither has the other's changes.
 */
export async function findSessionCode(ports: SessionPorts, view: EpicView): Promise<SessionCode[]> {
  if (view.saved === null) return []; // a process died before the first checkpoint
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
    // It worked at the same time if it began later but saved earlier, or saved after the newest one began.
    const isConcurrent = sessionNumber > number || Date.parse(timestamp) > began;
    const isSame = [...found.values()].some((other) => other.snapshot === snapshot);
    if (isFirst || (isConcurrent && !isSame && snapshot !== null)) found.set(sessionId, checkpoint);
  }
  return [...found.values()]
    .filter(({ snapshot }) => snapshot !== null)
    .map((checkpoint) => ({ checkpoint, isOwn: isOwn(checkpoint.sessionId) }));
}
