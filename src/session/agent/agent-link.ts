import { join } from 'node:path';
import {
  amount,
  epic,
  listOf,
  mapOf,
  number,
  optional,
  orNull,
  text,
  time,
  withFields,
  yesOrNo,
} from '../../checks.ts';
import type { Usage } from '../../cost/ledger.ts';
import type { LiveFigure } from '../../cost/live-figure.ts';
import { isSessionId, nameFile, parseSessionId } from '../../ids.ts';
import { belongsToOtherClone } from '../../journal/writer.ts';
import type { Keyed } from '../../keyed.ts';
import { forgetCallChecks } from '../../record/call-checks.ts';
import type { EpicChoice } from '../../record/which/which-epic.ts';
import { isUsage } from '../../state/fact-check.ts';
import { type Disk, listFolder, removeIfThere, type WritePorts } from '../../system/disk.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import type { EpicId, Millis, SessionId } from '../../types.ts';

/** Links an agent's conversations to the session they belong to. Losing it loses nothing that is recorded. */
export type AgentLink = {
  readonly session: SessionId;
  readonly epic: EpicId;
  /** Why this epic: one chosen by the branch changes with the branch. */
  readonly because: EpicChoice['because'];
  readonly agent: string;
  readonly parentSessionId: SessionId | null;
  /** The agent's ids of its conversations: clearing the context begins another one. */
  readonly agentSessions: readonly string[];
  readonly transcripts: readonly string[];
  /** The usage in the transcripts from before the session. */
  readonly before: Keyed<Usage>;
  /** When each conversation joined whose transcript did not exist yet, by transcript. Missing in older links. */
  readonly begins?: Keyed<Millis>;
  /** When each transcript joined: earlier tool calls belong to other sessions. Missing in older links. */
  readonly joined?: Keyed<Millis>;
  /** The cost that the agent last reported in its status line. */
  readonly figure?: LiveFigure;
  /** Did the agent get the brief when it was started? */
  readonly isBriefed: boolean;
};

/** Makes the link of a session whose agent has no conversation yet. */
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

/** The file that caches what was read from a session's transcripts. */
export function meterCache(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.meter'));
}

/** The file that says how far tool calls were read from a session's transcripts. */
export function toolMarksPath(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.told'));
}

/** The file that says what a session's agent waits for. */
export function waitingPath(home: string, session: SessionId): string {
  return join(folderOf(home), nameFile(session, '.waiting'));
}

export function writeLink(ports: WritePorts & { readonly home: string }, link: AgentLink): Promise<void> {
  return writeJson(ports, pathOf(ports.home, link.session), link);
}

/** Removes a session's link, with everything else kept for its agent. */
export function removeLink(disk: Disk, home: string, session: SessionId): void {
  for (const name of readLink(home, session)?.agentSessions ?? []) forgetCallChecks({ disk, home }, name);
  for (const name of listFolder(folderOf(home)).filter((file) => file.startsWith(`${session}.`)))
    removeIfThere(disk, join(folderOf(home), name));
}

const isLink = withFields<AgentLink>({
  session: isSessionId,
  epic,
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

/** Reads the link of a session. A damaged one counts as missing: the agent then gets a new session. */
export function readLink(home: string, session: SessionId): AgentLink | null {
  const link = readJson(pathOf(home, session), isLink);
  return link === null || belongsToOtherClone(home, session) ? null : link;
}

/** Finds the link of a conversation by the agent's id for it. */
export function findLink(home: string, agentSession: string): AgentLink | null {
  return findLinks(home, agentSession)[0] ?? null;
}

/** Finds all links of a conversation: sessions that died leave theirs. */
export function findLinks(home: string, agentSession: string): AgentLink[] {
  const names = listFolder(folderOf(home)).filter((name) => /^sess-[a-z0-9]{4,32}\.json$/.test(name));
  return names.flatMap((name) => {
    const link = readLink(home, parseSessionId(name.slice(0, -'.json'.length)));
    return link?.agentSessions.includes(agentSession) ? [link] : [];
  });
}
