import type { OrchCommand } from '../../agents/orch-command.ts';
import { listEpics } from '../../checkpoint/tip.ts';
import type { Claim, Config } from '../../config/load.ts';
import { isOrchError } from '../../errors.ts';
import type { UserFolders } from '../../init/init-facts.ts';
import { journalFolder, listJournals, readJournalHeader } from '../../journal/read.ts';
import type { SessionSettings } from '../../journal/session-settings.ts';
import { type EpicView, readView } from '../../record/view.ts';
import type { EpicId, SessionId, WriterId } from '../../types.ts';
import type { CleanupPorts } from '../cleanup/cleanup-facts.ts';

/** What only the running program knows. */
export type Caller = {
  readonly node: string;
  /** How orch was started. */
  readonly command: OrchCommand;
  /** The writer id that the environment pins. */
  readonly pinnedWriter: WriterId | null;
  readonly folders: UserFolders;
};

export type DoctorPorts = CleanupPorts & {
  readonly caller: Caller;
  readonly readSettings: () => Promise<SessionSettings>;
  /** The settings of this config that the user has not approved yet. */
  readonly listUnapproved: (found: Config) => Promise<readonly Claim[]>;
};

export type Finding = {
  readonly status: 'ok' | 'warn' | 'fail';
  /** Numbers, paths, ids. */
  readonly evidence: string;
  /** What the user can do about it. */
  readonly fix?: string;
  /** Repairs it without losing anything; only if orch can. */
  readonly repair?: () => Promise<void>;
};

/** One check of this clone. Running it changes nothing. */
export type Check = {
  readonly name: string;
  readonly run: (ports: DoctorPorts) => Promise<Finding> | Finding;
};

export const ok = (evidence: string): Finding => ({ status: 'ok', evidence });
export const warn = (evidence: string, fix: string, repair?: Finding['repair']): Finding => ({
  status: 'warn',
  evidence,
  fix,
  ...(repair && { repair }),
});
export const fail = (evidence: string, fix: string, repair?: Finding['repair']): Finding => ({
  ...warn(evidence, fix, repair),
  status: 'fail',
});

/** `a, b, c and 4 more`. */
export function listSome(names: readonly string[], most = 5): string {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
}

/** Reads the epics that can be read; the check `checkpoints` reports the others. */
export async function readViews(ports: DoctorPorts): Promise<EpicView[]> {
  const views: EpicView[] = [];
  const folder = journalFolder(ports.home);
  const begun = listJournals(folder).flatMap((session) => headerOf(folder, session)?.epic ?? []);
  for (const epic of new Set<EpicId>([...(await listEpics(ports.git)), ...begun])) {
    try {
      views.push(await readView(ports, epic));
    } catch (error) {
      if (!isOrchError(error)) throw error;
    }
  }
  return views;
}

function headerOf(folder: string, session: SessionId) {
  try {
    return readJournalHeader(folder, session);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return null; // written by a newer orch: the check `journals` reports it
  }
}
