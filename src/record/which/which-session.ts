import { epicNotFound } from '../../checkpoint/list.ts';
import { OrchError } from '../../errors.ts';
import { listOwnWorktrees } from '../../git/worktree/own-worktrees.ts';
import { parseEpicId } from '../../ids.ts';
import { checkLive, type LiveRecord, listLive, readLive, type StopRequest } from '../../journal/live.ts';
import { journalFolder, readJournalHeader } from '../../journal/read.ts';
import type { SessionSettings } from '../../journal/session-settings.ts';
import { belongsToOtherClone } from '../../journal/writer.ts';
import { lookUp } from '../../keyed.ts';
import { sessionsOf } from '../../state/runs.ts';
import { isAncestorProcess } from '../../system/process/identity.ts';
import type { EpicId, SessionId } from '../../types.ts';
import type { RunningSession, SessionPorts } from '../ports.ts';
import { readView } from '../view.ts';
import {
  type EpicChoice,
  type EpicQuestion,
  listAllEpics,
  type ResolvePorts,
  readAllViews,
  resolveEpic,
  type UnreadableEpic,
} from './which-epic.ts';

/** Where facts go: to a session that is running here, or to the one that a day's calls share. */
export type Destination = RunningSession | CallsOfDay;

/** The session for calls that are made while no session is running. */
export type CallsOfDay = {
  readonly kind: 'calls';
  readonly epic: EpicId;
  readonly settings: SessionSettings;
  readonly agent: string | null;
};

/** The destination for an epic's facts: the session running on it in this clone, if there is exactly one. */
export function findDestination(
  { home }: SessionPorts,
  epic: EpicId,
  settings: SessionSettings,
  agent: string | null,
): Destination {
  const running = listLive(home).filter((live) => live.epic === epic && checkLive(live) === 'alive');
  const [only, ...others] = running;
  if (only === undefined || others.length > 0) return { kind: 'calls', epic, settings, agent };
  return { kind: 'running', epic, session: only.session, settings: only.settings };
}

type DestinationQuestion = EpicQuestion & {
  /** The session that the command was started in. */
  readonly session?: SessionId | undefined;
  readonly agent: string | null;
};

/** Finds where a command's facts go: the session it runs in, the one running here, or that of the day's calls. */
export async function resolveDestination(
  ports: ResolvePorts,
  question: DestinationQuestion,
): Promise<{ readonly destination: Destination; readonly choice: EpicChoice }> {
  const { given, environment } = question;
  const named = given === undefined ? null : parseEpicId(given);
  if (question.session) {
    const own = await findOwn(ports, question.session);
    if (own && (named === null || own.epic === named))
      return { destination: own, choice: { epic: own.epic, because: 'session' } };
    if (own === null && (named === null || (await isSessionOf(ports, question.session, named, environment))))
      throw sessionGone(question.session);
  }
  // Outside a session, the environment names the epic like --epic does: costs never go to another epic.
  const epic = named ?? (environment ? parseEpicId(environment) : null);
  const running = findRunning(ports, epic);
  if (running) {
    const { session, settings } = running;
    const because = epic === null ? 'session' : named === null ? 'environment' : 'given';
    return {
      destination: { kind: 'running', epic: running.epic, session, settings },
      choice: { epic: running.epic, because },
    };
  }
  const choice = await resolveEpic(ports, question);
  if (!question.create && !(await listAllEpics(ports)).includes(choice.epic)) throw epicNotFound(choice.epic);
  const calls = { kind: 'calls' as const, agent: question.agent, settings: await ports.readSettings() };
  return { destination: { ...calls, epic: choice.epic }, choice };
}

/**
 * The session running here: on this epic, in this worktree, or the only one. Of several, that of the calling agent;
 * agents on one epic share their knowledge, so any of theirs will do, and the newest is taken.
 */
export function findRunning(ports: ResolvePorts, epic: EpicId | null): LiveRecord | null {
  const all = listRunning(ports, epic);
  const callers = all.filter(({ holder }) => isAncestorProcess(holder.pid));
  const [first, ...others] = (callers.length > 0 ? callers : all).sort((a, b) => b.since - a.since);
  if (first === undefined) return null;
  if (others.some((other) => other.epic !== first.epic))
    throw ambiguous([first, ...others], `Name the epic, for example: --epic ${first.epic}`);
  return first;
}

/** The session to end: if there are several, one must be named. */
export function findRunningToEnd(
  ports: ResolvePorts,
  epic: EpicId,
  named: SessionId | undefined,
  want: StopRequest['want'],
): LiveRecord | null {
  const all = listRunning(ports, epic);
  const [first, ...others] = all.some(({ session }) => session === named)
    ? all.filter(({ session }) => session === named)
    : all;
  if (first === undefined) return null;
  if (others.length === 0) return first;
  const hint = `Name one by its id, for example: ORCH_SESSION=${first.session} orch session ${want} -e ${epic}`;
  throw ambiguous([first, ...others], hint);
}

function listRunning(
  { home, repository }: Pick<ResolvePorts, 'home' | 'repository'>,
  epic: EpicId | null,
): LiveRecord[] {
  const all = listLive(home).filter((live) => checkLive(live) === 'alive');
  const meant = epic === null ? all : all.filter((live) => live.epic === epic);
  const here = meant.filter(({ worktree }) => worktree === repository.worktree);
  if (here.length > 0 || epic !== null) return here.length > 0 ? here : meant;
  // Agents in worktrees of orch's own are only meant where they work, or by name.
  const own = new Set<string | null>(listOwnWorktrees({ repository, home }, '').map(({ path }) => path));
  return meant.filter(({ worktree }) => !own.has(worktree));
}

function ambiguous(all: readonly LiveRecord[], hint: string): OrchError {
  const names = all.map((live) => `${live.session} (${live.epic})`);
  return new OrchError(
    'SESSION_AMBIGUOUS',
    `which session? ${names.length} are running here: ${names.join(', ')}`,
    {
      hint,
      data: { sessions: all.map(({ session }) => session) },
    },
  );
}

/** The session that a command says it runs in, if its journal is here; it may have ended. */
export async function findOwn(ports: ResolvePorts, session: SessionId): Promise<RunningSession | null> {
  const header = readJournalHeader(journalFolder(ports.home), session) ?? undefined;
  if (header === undefined || belongsToOtherClone(ports.home, session)) return null;
  const settings = readLive(ports.home, session)?.settings ?? (await ports.readSettings());
  return { kind: 'running', epic: header.epic, session, settings };
}

/**
 * Did a session belong to this epic? A late call that names both, for example from a process the session left behind,
 * means that session: its records must not end up in the next one.
 */
async function isSessionOf(
  ports: ResolvePorts,
  session: SessionId,
  epic: EpicId,
  environment: string | undefined,
): Promise<boolean> {
  return environment === epic || lookUp((await readView(ports, epic)).state.sessions, session) !== undefined;
}

function sessionGone(session: SessionId): OrchError {
  return new OrchError(
    'SESSION_NOT_FOUND',
    `session ${session} has ended, or is not in this clone; nothing was recorded`,
    {
      hint: 'ORCH_SESSION names it. Unset that variable to record in the session that is running now.',
      data: { sessionId: session },
    },
  );
}

/** The epic of a call: that of its session, or of the one running here, before any guess. */
export async function findEpic(
  ports: ResolvePorts,
  question: EpicQuestion & { readonly session?: SessionId | undefined },
): Promise<EpicChoice> {
  if (question.given === undefined && !question.environment) {
    const own = question.session && (await findOwn(ports, question.session));
    const running = own || findRunning(ports, null);
    if (running) return { epic: running.epic, because: 'session' };
  }
  return resolveEpic(ports, question);
}

/** The epic that a plan's run belongs to. */
export async function findEpicOfRun(
  ports: SessionPorts,
  run: string,
): Promise<{ readonly epic: EpicId | null; readonly unreadable: readonly UnreadableEpic[] }> {
  const { views, unreadable } = await readAllViews(ports);
  return { epic: views.find(({ state }) => sessionsOf(state.runs, run).size > 0)?.epic ?? null, unreadable };
}
