import { epicsPrefix } from '../../checkpoint/document/names-in-git.ts';
import { lostPath, readLost } from '../../checkpoint/lost-objects.ts';
import { listEpics, readTip } from '../../checkpoint/tip.ts';
import { findBrokenLink, measureReachable } from '../../git/objects/reachable.ts';
import { findBroken } from '../../git/objects/rebuild-history.ts';
import { isKnownAncestor } from '../../git/objects/walk-history.ts';
import { listRemotes } from '../../git/repository-facts.ts';
import { snapshotsPrefix } from '../../git/snapshot/snapshot-message.ts';
import { parseEpicId } from '../../ids.ts';
import type { Millis } from '../../types.ts';
import { count, formatAge, formatSize } from '../../units.ts';
import { suggestFetch } from './check-checkpoints.ts';
import { type BrokenRef, repairBrokenRefs } from './check-refs.ts';
import { type Check, fail, listSome, ok, warn } from './finding.ts';

/** How many commits are checked, with their objects. */
const mostFollowed = 5_000;

const objects: Check = {
  name: 'objects',
  run: async (ports) => {
    const { git, repository, home } = ports;
    if (git.name !== 'native') return ok('not checked: that needs git');
    const all = [...(await git.listRefs('refs/'))];
    const ours = new Map(all.filter(([ref]) => isOurs(ref)));
    const theirs = all.filter(([ref]) => !isOurs(ref)).map(([, oid]) => oid);
    const ask = () => findBroken(repository, [...new Set(ours.values())], mostFollowed, theirs);
    const first = await ask();
    // orch may still hold what a prune removed a moment ago.
    const isBack = first.length > 0 && (await git.restorePrunedObjects()).length > 0;
    const found = new Set(isBack ? await ask() : first);
    const lost = readLost(home).length;
    const earlier = lost === 0 ? '' : `; ${count(lost, 'ref')} repaired earlier, see ${lostPath(home)}`;
    if (found.size === 0) return ok(`none missing in ${count(ours.size, 'ref')}${earlier}`);
    const broken: BrokenRef[] = [];
    for (const [ref, oid] of ours) {
      if (!found.has(oid)) continue;
      const problem = await findBrokenLink(repository, [oid], theirs, mostFollowed);
      broken.push({ ref, oid, problem: problem ?? 'missing' });
    }
    // If a remote has the epic, rebuilt checkpoints would exist twice after the next sync, so it is fetched instead.
    const mayBeShared = (await listRemotes(repository)).length > 0;
    const isToFetch = ({ ref }: BrokenRef) => mayBeShared && ref.startsWith(epicsPrefix);
    const toFetch = broken.find(isToFetch);
    const repairable = broken.filter((each) => !isToFetch(each));
    const evidence = listSome(
      broken.map(({ ref, problem }) => `${ref}: ${problem}`),
      3,
    );
    if (repairable.length === 0 && toFetch)
      return fail(evidence, await suggestFetch(ports, parseEpicId(toFetch.ref.slice(epicsPrefix.length))));
    return fail(
      evidence,
      'The missing objects are lost unless another clone or a backup has them. Point these refs to what is intact, so that git gc and sync work again: orch doctor --fix',
      () => repairBrokenRefs(ports, repairable),
    );
  },
};

function isOurs(ref: string): boolean {
  return ref.startsWith('refs/orchestration/') || ref.startsWith('refs/orchestration-local/');
}

const tracked = /^refs\/orchestration-local\/remotes\/([^/]+)\/epics\/(.+)$/;

const unpushed: Check = {
  name: 'unpushed',
  run: async ({ git }) => {
    const epics = await git.listRefs(epicsPrefix);
    const remotes = await git.listRefs('refs/orchestration-local/remotes/');
    const behind: string[] = [];
    let known = 0;
    for (const [ref, theirs] of remotes) {
      const [, remote = '', epic = ''] = tracked.exec(ref) ?? [];
      const ours = epics.get(`${epicsPrefix}${epic}`);
      if (remote === '' || ours === undefined) continue;
      known++;
      if (ours !== theirs && !(await isKnownAncestor(git, ours, theirs))) behind.push(`${epic} (${remote})`);
    }
    if (known === 0) return ok(`${count(epics.size, 'epic')}, never synced: only this clone has them`);
    if (behind.length === 0) return ok('the remotes have everything that was synced before');
    return warn(`newer here than at the last sync: ${listSome(behind)}`, 'Run: orch sync');
  },
};

const manySnapshots = 500;
const largeSnapshots = 1024 ** 3;

const snapshots: Check = {
  name: 'snapshots',
  run: async ({ git, repository }) => {
    const refs = await git.listRefs(snapshotsPrefix);
    if (git.name !== 'native') return ok(count(refs.size, 'session'));
    const theirs = [...(await git.listRefs('refs/'))].filter(([ref]) => !isOurs(ref)).map(([, oid]) => oid);
    const bytes = await measureReachable(repository, [...refs.values()], theirs);
    const evidence = `of ${count(refs.size, 'session')}${bytes === null ? '' : `, ${formatSize(bytes)}`}`;
    if (refs.size <= manySnapshots && (bytes ?? 0) <= largeSnapshots) return ok(evidence);
    return warn(evidence, 'See what could be removed: orch cleanup --dry-run');
  },
};

/** Well-kept clocks differ by less. */
const tolerated: Millis = 300_000;

const clock: Check = {
  name: 'clock',
  run: async (ports) => {
    const ahead: string[] = [];
    let most = 0;
    for (const epic of await listEpics(ports.git)) {
      const skew = (await readTip(ports, epic)).state.clock - ports.clock.now();
      most = Math.max(most, skew);
      if (skew > tolerated) ahead.push(`${epic} by ${formatAge(skew)}`);
    }
    if (ahead.length === 0)
      return ok(most > 0 ? `newest events ${formatAge(most)} ahead` : 'no events from the future');
    return warn(
      `events from the future, by this clock: ${listSome(ahead)}`,
      'Nothing is lost, and new events here still count as newer. Correct the clock of this machine, or of the one that is ahead',
    );
  },
};

export const storageChecks: readonly Check[] = [objects, unpushed, snapshots, clock];
