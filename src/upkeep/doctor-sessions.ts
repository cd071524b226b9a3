import { join } from 'node:path';
import { listStaleRefLocks, removeStaleRefLock } from '../git/ref-wait.ts';
import { listSessions } from '../session/fate.ts';
import { endLeftovers, listProcessesOf } from '../session/leftovers.ts';
import { checkLive, listLive } from '../session/live.ts';
import { recoverInterrupted } from '../session/recover.ts';
import { listFolder } from '../system/files.ts';
import { clearDeadHolder, findDeadHolder } from '../system/lock.ts';
import { formatAge } from '../units.ts';
import { type Check, fail, listSome, ok, warn } from './doctor-types.ts';
import { readViews } from './doctor-views.ts';

/* The sessions of this clone, and what they may have left behind. */

const sessions: Check = {
  name: 'sessions',
  look: async (ports) => {
    const now = ports.clock.now();
    const known = (await readViews(ports)).flatMap((view) =>
      listSessions(view, ports.home).map((session) => ({ epic: view.epic, ...session })),
    );
    const running = known.filter(({ fate }) => fate === 'running' || fate === 'initializing').length;
    const lost = known.filter(({ fate }) => fate === 'interrupted');
    if (lost.length === 0) return ok(`${known.length} known, ${running} running, none interrupted`);
    const names = lost.map(
      ({ id, epic, value }) =>
        `${id} of ${epic}, last seen ${formatAge(Math.max(0, now - value.seenAt))} ago`,
    );
    const epics = [...new Set(lost.map(({ epic }) => epic))];
    return warn(
      `${lost.length} interrupted: ${listSome(names)}`,
      `Recover it with a checkpoint, which also ends what still runs of it: orch doctor --fix, or orch resume -e ${epics[0]}`,
      async () => {
        const settings = await ports.readSettings();
        for (const epic of epics) await recoverInterrupted(ports, epic, settings);
      },
    );
  },
};

const processes: Check = {
  name: 'processes',
  look: (ports) => {
    const dead = listLive(ports.home).filter((live) => live.command && checkLive(live) === 'dead');
    const left = dead
      .map((live) => ({ ...live, pids: listProcessesOf(live) }))
      .filter(({ pids }) => pids.length > 0);
    if (left.length === 0) return ok('none left by a dead session');
    const names = left.map(({ session, pids }) => `${listSome(pids.map(String))} of ${session}`);
    return fail(
      `still running, and nobody stops them at the budget: pid ${names.join('; pid ')}`,
      'End them: orch doctor --fix, which recovers their session first',
      async () => {
        const { stopGrace } = await ports.readSettings();
        for (const live of left) await endLeftovers(live, stopGrace);
      },
    );
  },
};

const locks: Check = {
  name: 'locks',
  look: (ports) => {
    const { home, clock, disk, repository } = ports;
    const folder = join(home, 'locks');
    const dead = listFolder(folder)
      .filter((name) => name.endsWith('.lock'))
      .map((name) => ({
        name,
        path: join(folder, name),
        holder: findDeadHolder(join(folder, name), clock.now()),
      }))
      .filter(({ holder }) => holder !== null);
    const stale =
      repository.refStorage === 'files' ? listStaleRefLocks(repository.commonDir, clock.now()) : [];
    if (dead.length + stale.length === 0) return ok('none without a holder');
    const names = [
      ...dead.map(({ name, holder }) => `locks/${name}${holder?.pid ? ` (pid ${holder.pid} is gone)` : ''}`),
      ...stale.map(({ path, age }) => `${path} (untouched for ${formatAge(age)})`),
    ];
    return warn(
      listSome(names),
      'Remove them: orch doctor --fix; a checkpoint also does, after waiting for them',
      async () => {
        for (const { path } of dead) await clearDeadHolder(ports, path);
        for (const lock of stale) removeStaleRefLock(disk, lock);
      },
    );
  },
};

export const sessionChecks: readonly Check[] = [sessions, processes, locks];
