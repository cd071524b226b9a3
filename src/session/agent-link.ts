import { join } from 'node:path';
import {
  amount,
  listOf,
  mapOf,
  number,
  optional,
  orNull,
  readChecked,
  text,
  time,
  withFields,
  yesOrNo,
} from '../checks.ts';
import type { LiveFigure } from '../cost/figure.ts';
import type { Usage } from '../cost/ledger.ts';
import { isEpicId, isSessionId, nameFile, parseSessionId } from '../ids.ts';
import { removeCached } from '../integration/transcript-cache.ts';
import type { Keyed } from '../keyed.ts';
import { isUsage } from '../state/fact-check.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import type { EpicId, Millis, SessionId } from '../types.ts';
import { forgetCalm } from './calm-files.ts';
import type { EpicChoice } from './resolve.ts';
import { isOthers } from './writer.ts';

/** Which session of orch an agent that runs by itself works in. Losing it loses nothing that was recorded. */
export type AgentLink = {
  readonly session: SessionId;
  readonly epic: EpicId;
  /** Why this epic: one that came from the branch changes with it. */
  readonly because: EpicChoice['because'];
  readonly agent: string;
  readonly parentSessionId: SessionId | null;
  /** The agent's own names for it: clearing its context gives it another. */
  readonly agentSessions: readonly string[];
  readonly transcripts: readonly string[];
  /** What the transcripts held when the session began: that was another session's. */
  readonly before: Keyed<Usage>;
  /** When the conversations joined whose transcripts were not there yet, by transcript. Missing in older links. */
  readonly begins?: Keyed<Millis>;
  /** When each transcript joined: what tools did before is another session's. Missing in older links. */
  readonly joined?: Keyed<Millis>;
  /** What the agent last said, in its status line, that it has cost. */
  readonly figure?: LiveFigure;
  /** Was the agent told what it has to know when it was started? */
  readonly isBriefed: boolean;
};

/** A link to a session in which no agent has said anything yet. */
export function emptyLink(
  about: Pick<AgentLink, 'session' | 'epic' | 'because' | 'parentSessionId'>,
  agent: string,
): AgentLink {
  return { ...about, agent, agentSessions: [], transcripts: [], before: {}, isBriefed: false };
}

function folderOf(home: string): string {
  return join(home, 'agents');
}

function pathOf(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.json'));
}

/** Where what was read of a session's transcripts is kept. */
export function meterCache(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.meter'));
}

/** Where it is kept how far what the agents' tools did was read. */
export function toldPath(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.told'));
}

/** Where it is kept that a session's agent waits for its user. */
export function waitingPath(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.waiting'));
}

export async function writeLink(disk: Disk, home: string, random: Random, link: AgentLink): Promise<void> {
  await writeAtomically(
    disk,
    pathOf(home, link.session),
    Buffer.from(`${JSON.stringify(link)}\n`),
    random.id(8),
  );
}

export function removeLink(disk: Disk, home: string, session: SessionId): void {
  for (const name of readLink(home, session)?.agentSessions ?? []) forgetCalm({ disk, home }, name);
  removeIfThere(disk, pathOf(home, session));
  removeIfThere(disk, waitingPath(home, session));
  removeIfThere(disk, toldPath(home, session));
  removeCached(disk, meterCache(home, session));
}

const isLink = withFields<AgentLink>({
  session: isSessionId,
  epic: (value) => typeof value === 'string' && isEpicId(value),
  because: text,
  agent: text,
  parentSessionId: orNull(isSessionId),
  agentSessions: listOf(text),
  transcripts: listOf(text),
  before: mapOf(isUsage),
  begins: optional(mapOf(time)),
  joined: optional(mapOf(time)),
  figure: optional(
    withFields<LiveFigure>({
      agentSession: text,
      first: amount,
      countedFirst: amount,
      last: amount,
      countedLast: amount,
      told: number,
    }),
  ),
  isBriefed: yesOrNo,
});

export function readLink(home: string, session: SessionId): AgentLink | null {
  // Damaged: the agent gets a session of its own again.
  const link = readChecked(readTextIfThere(pathOf(home, session)), isLink);
  return link === null || isOthers(home, session) ? null : link;
}

/** The link of an agent's session, by the agent's own name for it. */
export function findLink(home: string, agentSession: string): AgentLink | null {
  return findLinks(home, agentSession)[0] ?? null;
}

/** All of them: sessions that died leave theirs. */
export function findLinks(home: string, agentSession: string): AgentLink[] {
  const names = listFolder(folderOf(home)).filter((name) => /^sess-[a-z0-9]{4,32}\.json$/.test(name));
  return names.flatMap((name) => {
    const link = readLink(home, parseSessionId(name.slice(0, -'.json'.length)));
    return link?.agentSessions.includes(agentSession) ? [link] : [];
  });
}
