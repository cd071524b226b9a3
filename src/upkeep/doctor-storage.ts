import { lostPath, readLost } from '../checkpoint/lost.ts';
import { listEpics, readTip } from '../checkpoint/tip.ts';
import { epicsPrefix } from '../checkpoint/tree.ts';
import { isOrchError } from '../errors.ts';
import { findBroken } from '../git/remake.ts';
import { snapshotsPrefix } from '../git/snapshot-ref.ts';
import { findBrokenLink, measureReachable } from '../git/storage.ts';
import { listRemotes } from '../git/surroundings.ts';
import { parseEpicId } from '../ids.ts';
import type { Millis, Oid } from '../types.ts';
import { count, formatAge, formatSize } from '../units.ts';
import { suggestFetch } from './doctor-checkpoints.ts';
import { type BrokenRef, setRefsAside } from './doctor-lost.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './doctor-types.ts';

/* What is stored in git, seen from its refs: whether it is whole, shared, too much, or of another time. */

/** How many commits are followed to their objects. */
const mostFollowed = 5_000;

const objects: Check = {
  name: 'objects',
  look: async (ports) => {
    const { git, repository, home } = ports;
    if (git.name !== 'native') return ok('not asked: that takes the git program');
    const all = [...(await git.listRefs('refs/'))];
    const ours = new Map(all.filter(([ref]) => isOurs(ref)));
    const theirs = all.filter(([ref]) => !isOurs(ref)).map(([, oid]) => oid);
    const ask = () => findBroken(repository, [...new Set(ours.values())], mostFollowed, theirs);
    const first = await ask();
    // What a prune removed a moment ago may still be held.
    const isBack = first.length > 0 && (await git.bringBackObjects()).length > 0;
    const found = new Set(isBack ? await ask() : first);
    const lost = readLost(home).length;
    const earlier = lost === 0 ? '' : `; ${count(lost, 'ref')} set aside earlier, see ${lostPath(home)}`;
    if (found.size === 0) return ok(`all there, of ${count(ours.size, 'ref')}${earlier}`);
    const broken: BrokenRef[] = [];
    for (const [ref, oid] of ours) {
      if (!found.has(oid)) continue;
      const problem = await findBrokenLink(repository, [oid], theirs, mostFollowed);
      broken.push({ ref, oid, problem: problem ?? 'missing' });
    }
    // Made again, the checkpoints of an epic that a remote may have would be there twice after the next sync.
    const mayBeShared = (await listRemotes(repository)).length > 0;
    const isToFetch = ({ ref }: BrokenRef) => mayBeShared && ref.startsWith(epicsPrefix);
    const toFetch = broken.find(isToFetch);
    const aside = broken.filter((each) => !isToFetch(each));
    const evidence = listSome(
      broken.map(({ ref, problem }) => `${ref}: ${problem}`),
      3,
    );
    if (aside.length === 0 && toFetch)
      return fail(evidence, await suggestFetch(ports, parseEpicId(toFetch.ref.slice(epicsPrefix.length))));
    return fail(
      evidence,
      'What is missing is lost unless another clone or a backup has it. Point these refs to what is whole, so that git gc and sync work again: orch doctor --fix',
      () => setRefsAside(ports, aside),
    );
  },
};

function isOurs(ref: string): boolean {
  return ref.startsWith('refs/orchestration/') || ref.startsWith('refs/orchestration-local/');
}

const tracked = /^refs\/orchestration-local\/remotes\/([^/]+)\/epics\/(.+)$/;

const unpushed: Check = {
  name: 'unpushed',
  look: async ({ git }) => {
    const epics = await git.listRefs(epicsPrefix);
    const remotes = await git.listRefs('refs/orchestration-local/remotes/');
    const behind: string[] = [];
    let known = 0;
    for (const [ref, theirs] of remotes) {
      const [, remote = '', epic = ''] = tracked.exec(ref) ?? [];
      const ours = epics.get(`${epicsPrefix}${epic}`);
      if (remote === '' || ours === undefined) continue;
      known++;
      if (ours !== theirs && !(await isContained(git, ours, theirs))) behind.push(`${epic} (${remote})`);
    }
    if (known === 0) return ok(`${count(epics.size, 'epic')}, never synced: only this clone has them`);
    if (behind.length === 0) return ok('all that was synced before is still there');
    return warn(`newer here than at the last sync: ${listSome(behind)}`, 'Run: orch sync');
  },
};

async function isContained(git: DoctorPorts['git'], ours: Oid, theirs: Oid): Promise<boolean> {
  try {
    return await git.isAncestor(ours, theirs);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return false; // the history cannot be read: told by the check of objects
  }
}

const manySnapshots = 500;
const largeSnapshots = 1024 ** 3;

const snapshots: Check = {
  name: 'snapshots',
  look: async ({ git, repository }) => {
    const refs = await git.listRefs(snapshotsPrefix);
    if (git.name !== 'native') return ok(count(refs.size, 'session'));
    const theirs = [...(await git.listRefs('refs/'))].filter(([ref]) => !isOurs(ref)).map(([, oid]) => oid);
    const bytes = await measureReachable(repository, [...refs.values()], theirs);
    const evidence = `of ${count(refs.size, 'session')}${bytes === null ? '' : `, ${formatSize(bytes)}`}`;
    if (refs.size <= manySnapshots && (bytes ?? 0) <= largeSnapshots) return ok(evidence);
    return warn(evidence, 'See what could go: orch cleanup --dry-run');
  },
};

/** Clocks of machines that are looked after differ by less. */
const tolerated: Millis = 300_000;

const clock: Check = {
  name: 'clock',
  look: async (ports) => {
    const ahead: string[] = [];
    let most = 0;
    for (const epic of await listEpics(ports.git)) {
      const skew = (await readTip(ports, epic)).state.clock - ports.clock.now();
      most = Math.max(most, skew);
      if (skew > tolerated) ahead.push(`${epic} by ${formatAge(skew)}`);
    }
    if (ahead.length === 0)
      return ok(most > 0 ? `newest stamps ${formatAge(most)} ahead` : 'no stamp in the future');
    return warn(
      `recorded in the future by this clock: ${listSome(ahead)}`,
      'Nothing is lost, and what is recorded here still counts as newer. Set the clock of this machine, or of the one that was ahead',
    );
  },
};

export const storage: readonly Check[] = [objects, unpushed, snapshots, clock];
