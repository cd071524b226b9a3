import { listEpics } from '../../checkpoint/tip.ts';
import { hash } from '../../digest.ts';
import { type ErrorCode, hasCode, OrchError } from '../../errors.ts';
import { branchInProgress, isDefaultBranch } from '../../git/refs/file-refs.ts';
import type { Repository } from '../../git/repository.ts';
import { parseEpicId, slugOf } from '../../ids.ts';
import { journalFolder, listJournals, readJournalHeader } from '../../journal/read.ts';
import type { SessionSettings } from '../../journal/session-settings.ts';
import type { Random } from '../../system/clock.ts';
import type { EpicId } from '../../types.ts';
import { containsSecret } from '../clean-facts.ts';
import type { SessionPorts } from '../ports.ts';
import { listWaiting } from '../sessions.ts';
import { type EpicView, readView } from '../view.ts';
import { nameAfterRequest } from './epic-name.ts';
import { lastUsedOn } from './last-used.ts';

/** An epic, and why orch chose it. */
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
    /** Named after the user's request. */
    | 'request'
    | 'made up';
};

export type EpicQuestion = {
  /** `--epic` */
  readonly given?: string | undefined;
  /** From the environment. */
  readonly environment?: string | undefined;
  /** The name of the plan or of the spec's folder. */
  readonly name?: string | undefined;
  /** May this create a new epic? */
  readonly create: boolean;
  /** The user's request, if known: a new epic is named after it. */
  readonly request?: string | null;
};

export type ResolvePorts = SessionPorts & {
  readonly repository: Repository;
  readonly readConfig: () => Promise<{ readonly epic: EpicId | null }>;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** Lists all epics: those with a checkpoint, and those with only a journal. */
export async function listAllEpics(ports: SessionPorts): Promise<EpicId[]> {
  const begun = listJournals(journalFolder(ports.home)).flatMap(
    (session) => readJournalHeader(journalFolder(ports.home), session)?.epic ?? [],
  );
  return [...new Set([...(await listEpics(ports.git)), ...begun])].sort();
}

/** An epic that cannot be read: it is damaged, or from a newer orch. */
export type UnreadableEpic = { readonly epicId: EpicId; readonly code: ErrorCode; readonly message: string };

/** Reads every epic, and lists those that cannot be read, so that a broken one does not hide the others. */
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

/** Makes a name for an epic that has no other: `epic-7hq2m4`. */
export function makeEpicId(random: Random): EpicId {
  return parseEpicId(`epic-${random.id(6)}`);
}

/** Finds the epic for a command: the given one, the config's, the plan's, the branch's, the last used, the only one. */
export async function resolveEpic(ports: ResolvePorts, question: EpicQuestion): Promise<EpicChoice> {
  const { given, environment, create } = question;
  if (given !== undefined) return { epic: parseEpicId(given), because: 'given' };
  if (environment) return { epic: parseEpicId(environment), because: 'environment' };
  const { epic: configured } = await ports.readConfig();
  if (configured) return { epic: configured, because: 'config' };
  const own = question.name === undefined || containsSecret(question.name) ? null : nameAsEpic(question.name);
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
  if (create) return { epic: makeEpicId(ports.random), because: 'made up' };
  if (epics.length === 0) {
    throw new OrchError('EPIC_NOT_FOUND', 'this repository has no epics yet', {
      hint: 'Make the first checkpoint with: orch checkpoint create --epic my-feature',
    });
  }
  throw new OrchError('USAGE', `which epic? There are ${epics.length}: ${epics.slice(0, 20).join(', ')}`, {
    hint: `Name one, for example: --epic ${only}`,
    data: { epics },
  });
}

/** A name without a usable letter, such as `登录`, must not end up on the epic of other work. */
function nameAsEpic(name: string): EpicId {
  return slugOf(name) ?? parseEpicId(`plan-${hash('sha256', name).slice(0, 6)}`);
}

/** The branch that is checked out or being rebased; null if there is none. */
export async function findBranch({ git, repository }: ResolvePorts): Promise<string | null> {
  return (await git.readHead()).branch ?? branchInProgress(repository.gitDir);
}

/** The epic of a branch; null for a default branch. */
function nameAfter({ repository }: ResolvePorts, branch: string): EpicId | null {
  const standsForNone = isDefaultBranch(repository.commonDir, branch) || containsSecret(branch);
  return standsForNone ? null : slugOf(branch);
}
