import { join } from 'node:path';
import { isOrchError } from '../../errors.ts';
import { readPending } from '../../journal/pending.ts';
import {
  journalFolder,
  journalPath,
  listAllJournals,
  listJournals,
  readJournalHeader,
  restoreHalfReleased,
} from '../../journal/read.ts';
import { listSessions } from '../../record/sessions.ts';
import type { EpicView } from '../../record/view.ts';
import { saveByHand } from '../../session/calls.ts';
import { makeFolder, statIfThere } from '../../system/disk.ts';
import type { Millis, SessionId } from '../../types.ts';
import { count } from '../../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, readViews, warn } from './finding.ts';

/** A journal that was just created may have no header yet. */
const headerGrace: Millis = 10_000;

export const journalCheck: Check = {
  name: 'journals',
  run: async (ports) => {
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
        ({ epic, pending }) => `${count(pending.length, 'event')} of ${epic} not in a checkpoint yet`,
      ),
      ...unreadable.map(({ path, size }) => `${path} (${size} bytes) has no header`),
      ...(aside.length > 0 ? [`${aside.length} half removed`] : []),
    ];
    const tornWords = torn > 0 ? `; ${count(torn, 'incomplete line')}, never acknowledged` : '';
    if (problems.length === 0)
      return ok(`${listJournals(folder).length}, all in checkpoints or in use${tornWords}`);
    return warn(
      `${listSome(problems)}${tornWords}`,
      waiting.length > 0
        ? `Nothing is lost. Save them: orch doctor --fix, or orch checkpoint create -e ${waiting[0]?.epic}`
        : 'Nothing is lost. Repair it: orch doctor --fix',
      async () => {
        restoreHalfReleased(ports.disk, folder);
        await moveToDamaged(ports, unreadable);
        const settings = await ports.readSettings();
        const reason = 'Saved by orch doctor';
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
    if (stat === null || clock.now() - stat.mtimeMs < headerGrace) return [];
    try {
      return readJournalHeader(folder, session) ? [] : [{ session, path, size: stat.size, problem: null }];
    } catch (error) {
      if (!isOrchError(error)) throw error;
      return [{ session, path, size: stat.size, problem: error.message }];
    }
  });
}

/** Moves the files next to the damaged objects, where they can still be inspected. */
async function moveToDamaged({ disk, home }: DoctorPorts, unreadable: readonly Unreadable[]): Promise<void> {
  if (unreadable.length === 0) return;
  const folder = join(home, 'damaged');
  await makeFolder(disk, folder);
  for (const { session, path } of unreadable) disk.rename(path, journalPath(folder, session));
}

function isWorkedOn({ home }: DoctorPorts, view: EpicView): boolean {
  const isOpen = (condition: string) =>
    ['running', 'initializing', 'elsewhere', 'interrupted'].includes(condition);
  return listSessions(view, home).some(({ condition }) => isOpen(condition));
}
