import { join } from 'node:path';
import { generateResumeBrief } from '../checkpoint/brief/brief.ts';
import type { Brief } from '../checkpoint/brief/fit.ts';
import { findNews } from '../checkpoint/brief/news.ts';
import { type Moment, quoteBrief } from '../checkpoint/brief/origin.ts';
import { findBriefSource } from '../checkpoint/brief/source.ts';
import { type Checkpoint, describeCommit } from '../checkpoint/list.ts';
import { findCheckpoint } from '../checkpoint/names.ts';
import { readSaved } from '../checkpoint/read.ts';
import { hasCode } from '../errors.ts';
import { nameFile, parseWriterId } from '../ids.ts';
import { withoutAbandoned } from '../state/left-behind.ts';
import type { State } from '../state/lists.ts';
import type { SessionId, WriterId } from '../types.ts';
import type { EpicView } from './context.ts';
import type { SessionPorts } from './record.ts';

/** What the next session gets. */
export type Handover = {
  readonly brief: Brief;
  /** The brief for an agent, as quoted material. */
  readonly quoted: string;
  /** The session it is about; null where none has done anything yet. */
  readonly from: { readonly id: SessionId; readonly number: number } | null;
  /** The checkpoint it was taken from, where one was named. */
  readonly named: Checkpoint | null;
  /** What was known there. */
  readonly known: State | null;
};

/** Makes the brief of an epic as it stands, or as it stood at a checkpoint. */
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

/** The brief for an agent in whose context it goes: all of it, or after a compaction what would be lost. */
export async function quoteHandover(
  ports: SessionPorts,
  view: EpicView,
  moment: Exclude<Moment, 'resumed'>,
): Promise<string> {
  const { brief } = await handOver(ports, view, null);
  return quoteBrief(brief.markdown, view.epic, moment);
}

/**
 * For a conversation that goes on, only what happened elsewhere since: the rest it has. Null where there is nothing;
 * all of it where nothing is known of the conversation.
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

/** A clone that only looks may have no id yet, and no way to keep one: then every line counts as another clone's. */
async function findReader(ports: SessionPorts): Promise<WriterId> {
  try {
    return await ports.identifyWriter();
  } catch (error) {
    if (!hasCode(error, 'WRITE_FAILED')) throw error;
    return parseWriterId('reader');
  }
}

/** Where the brief of a session lies for its command, as long as that runs. */
export function briefPath(home: string, session: SessionId): string {
  return join(home, 'briefs', nameFile(session, '.md'));
}

async function readNamed(ports: SessionPorts, { epic }: EpicView, name: string) {
  const { commit } = await findCheckpoint(ports, epic, name);
  return readSaved(ports.git, epic, commit);
}
