import { join } from 'node:path';
import { listStaleRefLocks, removeStaleRefLock } from '../../git/refs/retry-on-conflict.ts';
import { checkLive, listLive } from '../../journal/live.ts';
import { listSessions } from '../../record/sessions.ts';
import { recoverInterrupted } from '../../session/recover.ts';
import { endSessionProcesses, listSessionProcesses } from '../../session/session-processes.ts';
import { listFolder } from '../../system/disk.ts';
import { clearDeadHolder, findDeadHolder } from '../../system/lock.ts';
import { formatAge } from '../../units.ts';
import { type Check, fail, listSome, ok, readViews, warn } from './finding.ts';

const sessions: Check = {
  name: 'sessions',
  run: async (ports) => {
    const now = ports.clock.now();
    const known = (await readViews(ports)).flatMap((view) =>
      listSessions(view, ports.home).map((session) => ({ epic: view.epic, ...session })),
    );
    const running = known.filter(
      ({ condition }) => condition === 'running' || condition === 'initializing',
    ).length;
    const lost = known.filter(({ condition }) => condition === 'interrupted');
    if (lost.length === 0) return ok(`${known.length} known, ${running} running, none interrupted`);
    const names = lost.map(
      ({ id, epic, value }) =>
        `${id} of ${epic}, last seen ${formatAge(Math.max(0, now - value.seenAt))} ago`,
    );
    const epics = [...new Set(lost.map(({ epic }) => epic))];
    return warn(
      `${lost.length} interrupted: ${listSome(names)}`,
      `Recover it, which saves a checkpoint and ends processes it left running: orch doctor --fix, or orch resume -e ${epics[0]}`,
      async () => {
        const settings = await ports.readSettings();
        for (const epic of epics) await recoverInterrupted(ports, epic, settings);
      },
    );
  },
};

const processes: Check = {
  name: 'processes',
  run: (ports) => {
    const dead = listLive(ports.home).filter((live) => live.command && checkLive(live) === 'dead');
    const left = dead
      .map((live) => ({ ...live, pids: listSessionProcesses(live) }))
      .filter(({ pids }) => pids.length > 0);
    if (left.length === 0) return ok('none left by a dead session');
    const names = left.map(({ session, pids }) => `${listSome(pids.map(String))} of ${session}`);
    return fail(
      `still running, and no budget stops them: pid ${names.join('; pid ')}`,
      'Recover their session and end them: orch doctor --fix',
      async () => {
        const { stopGrace } = await ports.readSettings();
        for (const live of left) await endSessionProcesses(live, stopGrace);
      },
    );
  },
};

const locks: Check = {
  name: 'locks',
  run: (ports) => {
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
    if (dead.length + stale.length === 0) return ok('none left behind');
    const names = [
      ...dead.map(({ name, holder }) => `locks/${name}${holder?.pid ? ` (pid ${holder.pid} is gone)` : ''}`),
      ...stale.map(({ path, age }) => `${path} (untouched for ${formatAge(age)})`),
    ];
    return warn(
      listSome(names),
      'Remove them: orch doctor --fix. The next checkpoint does so too, after waiting for them',
      async () => {
        for (const { path } of dead) await clearDeadHolder(ports, path);
        for (const lock of stale) removeStaleRefLock(disk, lock);
      },
    );
  },
};

export const sessionChecks: readonly Check[] = [sessions, processes, locks];
