import { epicNotFound } from '../checkpoint/list.ts';
import { listEpics } from '../checkpoint/tip.ts';
import { type ErrorCode, hasCode, OrchError } from '../errors.ts';
import { branchInProgress, isDefaultBranch } from '../git/refs.ts';
import type { Repository } from '../git/repository.ts';
import { parseEpicId, slugOf } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { isAbove } from '../system/process.ts';
import type { EpicId, SessionId } from '../types.ts';
import { holdsSecret } from './clean.ts';
import { type EpicView, readView } from './context.ts';
import { nameAfterRequest } from './epic-name.ts';
import { listWaiting } from './fate.ts';
import type { Place } from './here.ts';
import { journalFolder, listJournals, readJournal } from './journal.ts';
import { lastUsedOn } from './last-used.ts';
import { checkLive, type LiveRecord, listLive, readLive, type StopRequest } from './live.ts';
import type { SessionPorts } from './record.ts';
import type { SessionSettings } from './settings.ts';
import { isOthers } from './writer.ts';

export type EpicChoice = {
  readonly epic: EpicId;
  readonly because:
    | 'given'
    | 'environment'
    | 'session'
    | 'config'
    | 'name'
    | 'branch'
    | 'last used'
    | 'only one'
    /** Named after what was asked for. */
    | 'request'
    | 'made up';
};

export type EpicQuestion = {
  /** `--epic` */
  readonly given?: string | undefined;
  /** From the environment. */
  readonly environment?: string | undefined;
  /** What the work is called, where it has a name of its own: a plan's, or that of a spec's folder. */
  readonly name?: string | undefined;
  /** May a new epic come of it? */
  readonly create: boolean;
  /** What is asked for, where that is known: a new epic is named after it. */
  readonly request?: string | null;
};

export type ResolvePorts = SessionPorts & {
  readonly repository: Repository;
  readonly readConfig: () => Promise<{ readonly epic: EpicId | null }>;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** The epics there are: those with a checkpoint, and those that have only begun. */
export async function listAllEpics(ports: SessionPorts): Promise<EpicId[]> {
  const begun = listJournals(journalFolder(ports.home)).flatMap(
    (session) => readJournal(journalFolder(ports.home), session)?.header.epic ?? [],
  );
  return [...new Set([...(await listEpics(ports.git)), ...begun])].sort();
}

/** An epic that cannot be read at all: it is damaged, or of a newer orch. */
export type UnreadableEpic = { readonly epicId: EpicId; readonly code: ErrorCode; readonly message: string };

/** Every epic there is, and those that cannot be read beside them: one that is broken hides no other. */
export async function readAllViews(
  ports: SessionPorts,
): Promise<{ views: EpicView[]; unreadable: UnreadableEpic[] }> {
  const views: EpicView[] = [];
  const unreadable: UnreadableEpic[] = [];
  const waiting = listWaiting(ports.home).map(({ epic }) => epic);
  for (const epic of new Set([...(await listAllEpics(ports)), ...waiting])) {
    try {
      views.push(await readView(ports, epic));
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY', 'FORMAT_UNSUPPORTED')) throw error;
      unreadable.push({ epicId: epic, code: error.code, message: error.message });
    }
  }
  return { views, unreadable };
}

/** Which epic a command means: the one named, config's, the work's own, the branch's, the last used, the only one. */
export async function resolveEpic(ports: ResolvePorts, question: EpicQuestion): Promise<EpicChoice> {
  const { given, environment, create } = question;
  if (given !== undefined) return { epic: parseEpicId(given), because: 'given' };
  if (environment) return { epic: parseEpicId(environment), because: 'environment' };
  const { epic: configured } = await ports.readConfig();
  if (configured) return { epic: configured, because: 'config' };
  const own = question.name === undefined || holdsSecret(question.name) ? null : slugOf(question.name);
  if (own) return { epic: own, because: 'name' };
  const branch = await findBranch(ports);
  const named = branch === null ? null : nameAfter(ports, branch);
  if (named && create) return { epic: named, because: 'branch' };
  const epics = await listAllEpics(ports);
  if (named && epics.includes(named)) return { epic: named, because: 'branch' };
  const last = branch === null ? null : lastUsedOn(ports.home, branch);
  if (last && epics.includes(last)) return { epic: last, because: 'last used' };
  const [only] = epics;
  if (only !== undefined && epics.length === 1) return { epic: only, because: 'only one' };
  const asked = create ? await nameAfterRequest(question.request ?? '', ports.redact, epics) : null;
  if (asked) return { epic: asked, because: 'request' };
  if (create) return { epic: parseEpicId(`epic-${ports.random.id(6)}`), because: 'made up' };
  if (epics.length === 0) {
    throw new OrchError('EPIC_NOT_FOUND', 'there are no epics in this repository yet', {
      hint: 'Make the first checkpoint with: orch checkpoint create --epic my-feature',
    });
  }
  throw new OrchError('USAGE', `which epic? There are ${epics.length}: ${epics.slice(0, 20).join(', ')}`, {
    hint: `Name one, such as: --epic ${only}`,
    data: { epics },
  });
}

/** The branch that is worked on: HEAD's, or the one that is being rebased; null where the work is on none. */
export async function findBranch({ git, repository }: ResolvePorts): Promise<string | null> {
  return (await git.readHead()).branch ?? branchInProgress(repository.gitDir);
}

/** The epic a branch stands for, where it stands for one. */
function nameAfter({ repository }: ResolvePorts, branch: string): EpicId | null {
  const standsForNone = isDefaultBranch(repository.commonDir, branch) || holdsSecret(branch);
  return standsForNone ? null : slugOf(branch);
}

export type PlaceQuestion = EpicQuestion & {
  /** The session the command was started in. */
  readonly session?: SessionId | undefined;
  readonly agent: string | null;
};

/** Where a command's facts go: the session it runs in, the one that runs here, or one for this call. */
export async function resolvePlace(
  ports: ResolvePorts,
  question: PlaceQuestion,
): Promise<{ readonly place: Place; readonly choice: EpicChoice }> {
  const { given, environment } = question;
  const named = given === undefined ? null : parseEpicId(given);
  if (question.session) {
    const own = await findOwn(ports, question.session);
    if (own && (named === null || own.epic === named))
      return { place: own, choice: { epic: own.epic, because: 'session' } };
    if (own === null && (named === null || (await isSessionOf(ports, question.session, named, environment))))
      throw sessionGone(question.session);
  }
  // Outside of a session the environment names the epic as --epic does: nobody's costs go to another one.
  const epic = named ?? (environment ? parseEpicId(environment) : null);
  const running = findRunning(ports, epic);
  if (running) {
    const { session, settings } = running;
    const because = epic === null ? 'session' : named === null ? 'environment' : 'given';
    return {
      place: { kind: 'running', epic: running.epic, session, settings },
      choice: { epic: running.epic, because },
    };
  }
  const choice = await resolveEpic(ports, question);
  if (!question.create && !(await listAllEpics(ports)).includes(choice.epic)) throw epicNotFound(choice.epic);
  const opened = { kind: 'opened' as const, agent: question.agent, settings: await ports.readSettings() };
  return { place: { ...opened, epic: choice.epic }, choice };
}

/**
 * The session that runs here: on this epic, in this worktree, or the only one. Of several, that of the agent which
 * calls; agents that work on one epic share what is known of it, so any of theirs will do, and the newest is taken.
 */
export function findRunning(ports: ResolvePorts, epic: EpicId | null): LiveRecord | null {
  const all = listRunning(ports, epic);
  const callers = all.filter(({ holder }) => isAbove(holder.pid));
  const [first, ...others] = (callers.length > 0 ? callers : all).sort((a, b) => b.since - a.since);
  if (first === undefined) return null;
  if (others.some((other) => other.epic !== first.epic))
    throw ambiguous([first, ...others], `Name the epic, such as: --epic ${first.epic}`);
  return first;
}

/** The session to be ended: here it matters which, so of several one has to be named. */
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
  const hint = `Name one by its id, such as: ORCH_SESSION=${first.session} orch session ${want} -e ${epic}`;
  throw ambiguous([first, ...others], hint);
}

function listRunning({ home, repository }: ResolvePorts, epic: EpicId | null): LiveRecord[] {
  const all = listLive(home).filter((live) => checkLive(live) === 'alive');
  const meant = epic === null ? all : all.filter((live) => live.epic === epic);
  const here = meant.filter(({ worktree }) => worktree === repository.worktree);
  return here.length > 0 ? here : meant;
}

function ambiguous(all: readonly LiveRecord[], hint: string): OrchError {
  const names = all.map((live) => `${live.session} (${live.epic})`);
  return new OrchError('SESSION_AMBIGUOUS', `which session? ${names.length} run here: ${names.join(', ')}`, {
    hint,
    data: { sessions: all.map(({ session }) => session) },
  });
}

/** The session a command says it runs in, as long as its journal is here: it may have ended meanwhile. */
export async function findOwn(
  ports: ResolvePorts,
  session: SessionId,
): Promise<Extract<Place, { kind: 'running' }> | null> {
  const header = readJournal(journalFolder(ports.home), session)?.header;
  if (header === undefined || isOthers(ports.home, session)) return null;
  const settings = readLive(ports.home, session)?.settings ?? (await ports.readSettings());
  return { kind: 'running', epic: header.epic, session, settings };
}

/**
 * Was a session one of this epic's? A late call that names both, such as one from a process the session left behind,
 * means that session: what it records must not turn up in the next one.
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
      hint: 'ORCH_SESSION names it. Unset that variable to record in the session that runs now',
      data: { sessionId: session },
    },
  );
}
