import { join } from 'node:path';
import { isOrchError } from '../errors.ts';
import type { EpicView } from '../session/context.ts';
import { listSessions } from '../session/fate.ts';
import { saveByHand } from '../session/here.ts';
import {
  journalFolder,
  journalPath,
  listAllJournals,
  listJournals,
  readJournal,
  restoreHalfReleased,
} from '../session/journal.ts';
import { readPending } from '../session/pending.ts';
import { makeFolder, statIfThere } from '../system/files.ts';
import type { Millis, SessionId } from '../types.ts';
import { count } from '../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './doctor-types.ts';
import { readViews } from './doctor-views.ts';

/** A journal that is just being begun has no header yet. */
const settled: Millis = 10_000;

export const journals: Check = {
  name: 'journals',
  look: async (ports) => {
    const folder = journalFolder(ports.home);
    const unreadable = listUnreadable(ports, folder);
    const newer = unreadable.find(({ problem }) => problem !== null);
    if (newer?.problem) return fail(`${newer.path}: ${newer.problem}`, 'Update orch');
    const { aside } = listAllJournals(folder);
    const views = await readViews(ports);
    const waiting = views.filter((view) => view.pending.length > 0 && !isWorkedOn(ports, view));
    const torn = views.reduce((sum, view) => sum + readPending(folder, view.epic, view.tip.state).torn, 0);
    const problems = [
      ...waiting.map(
        ({ epic, pending }) => `${count(pending.length, 'event')} of ${epic} in no checkpoint yet`,
      ),
      ...unreadable.map(({ path, size }) => `${path} (${size} bytes) never began`),
      ...(aside.length > 0 ? [`${aside.length} set aside and not removed`] : []),
    ];
    const tornWords = torn > 0 ? `; ${count(torn, 'torn line')}, never acknowledged` : '';
    if (problems.length === 0)
      return ok(`${listJournals(folder).length}, all in checkpoints or in use${tornWords}`);
    return warn(
      `${listSome(problems)}${tornWords}`,
      waiting.length > 0
        ? `Nothing is lost. Bring it in: orch doctor --fix, or orch checkpoint create -e ${waiting[0]?.epic}`
        : 'Nothing is lost. Put it right: orch doctor --fix',
      async () => {
        restoreHalfReleased(ports.disk, folder);
        await setAside(ports, unreadable);
        const settings = await ports.readSettings();
        const reason = 'Brought in by orch doctor';
        for (const { epic } of waiting)
          await saveByHand(
            ports,
            epic,
            { trigger: 'recovery', reason, facts: [], agent: null },
            { ...settings, snapshot: false },
          );
      },
    );
  },
};

type Unreadable = {
  readonly session: SessionId;
  readonly path: string;
  readonly size: number;
  readonly problem: string | null;
};

function listUnreadable({ clock }: DoctorPorts, folder: string): Unreadable[] {
  return listJournals(folder).flatMap((session): Unreadable[] => {
    const path = journalPath(folder, session);
    const stat = statIfThere(path);
    if (stat === null || clock.now() - stat.mtimeMs < settled) return [];
    try {
      return readJournal(folder, session) ? [] : [{ session, path, size: stat.size, problem: null }];
    } catch (error) {
      if (!isOrchError(error)) throw error;
      return [{ session, path, size: stat.size, problem: error.message }];
    }
  });
}

/** Beside damaged objects, where it can still be looked at. */
async function setAside({ disk, home }: DoctorPorts, unreadable: readonly Unreadable[]): Promise<void> {
  if (unreadable.length === 0) return;
  const folder = join(home, 'damaged');
  await makeFolder(disk, folder);
  for (const { session, path } of unreadable) disk.rename(path, journalPath(folder, session));
}

function isWorkedOn({ home }: DoctorPorts, view: EpicView): boolean {
  const isOpen = (fate: string) => ['running', 'initializing', 'elsewhere', 'interrupted'].includes(fate);
  return listSessions(view, home).some(({ fate }) => isOpen(fate));
}
