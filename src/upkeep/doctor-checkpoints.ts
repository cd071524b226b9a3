import { join } from 'node:path';
import { findBriefFault } from '../checkpoint/brief/check.ts';
import { walkReadable } from '../checkpoint/list.ts';
import { parseMessage } from '../checkpoint/message.ts';
import { type Damage, readSaved } from '../checkpoint/read.ts';
import { listEpics, readTip } from '../checkpoint/tip.ts';
import { epicRef } from '../checkpoint/tree.ts';
import { hasCode, isOrchError, type OrchError } from '../errors.ts';
import { listRemotes } from '../git/surroundings.ts';
import { parseOid } from '../ids.ts';
import { saveByHand } from '../session/here.ts';
import type { EpicId, Oid } from '../types.ts';
import { count } from '../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './doctor-types.ts';

/* What is stored, as far as it can be seen quickly; `orch checkpoint verify` reads all of it. */

/** How many of an epic's newest checkpoints are read. */
const mostRead = 10;

type Trouble = {
  readonly epic: EpicId;
  readonly problem: string;
  readonly object: Oid | null;
  /** The very object, made again; null where it cannot be. */
  readonly remade: Buffer | null;
};
type Troubles = {
  readonly newest: readonly Trouble[];
  readonly older: readonly Trouble[];
  /** What a newer orch wrote. */
  readonly newer: readonly string[];
  readonly read: number;
};

export const checkpoints: Check = {
  name: 'checkpoints',
  look: async (ports) => {
    const epics = await listEpics(ports.git);
    const found = await Promise.all(epics.map((epic) => readNewest(ports, epic)));
    const newest = found.flatMap((one) => one.newest);
    const older = found.flatMap((one) => one.older);
    const newer = found.flatMap((one) => one.newer);
    if (newer.length > 0) return fail(listSome(newer, 3), 'Update orch; what is there is whole');
    const read = found.reduce((sum, one) => sum + one.read, 0);
    if (newest.length + older.length === 0)
      return ok(`${count(epics.length, 'epic')}, the newest ${count(read, 'checkpoint')} read`);
    const evidence = [...newest, ...older].map(({ epic, problem }) => `${epic}: ${problem}`);
    const first = older.find(({ remade }) => remade === null);
    const fix = [
      newest.length > 0
        ? 'The newest one is made again from the one before it and the journals: orch doctor --fix, or the next checkpoint.'
        : '',
      older.some(({ remade }) => remade !== null)
        ? 'A brief is made again from its checkpoint: orch doctor --fix.'
        : '',
      first
        ? `An older one cannot be made again; the newer ones do not need it. ${await suggestFetch(ports, first.epic)}`
        : '',
    ];
    return fail(listSome(evidence, 3), fix.filter((part) => part !== '').join(' '), () =>
      mend(ports, newest, older),
    );
  },
};

/** A checkpoint that was made by itself tells nobody that it has no code. */
export const code: Check = {
  name: 'code',
  look: async (ports) => {
    const epics = await listEpics(ports.git);
    const missing: { epic: EpicId; text: string }[] = [];
    for (const epic of epics) {
      const document = await readNewestDocument(ports, epic);
      if (document?.snapshotFailed !== undefined)
        missing.push({
          epic,
          text: `${epic}: checkpoint ${document.seq} has none: ${document.snapshotFailed}`,
        });
    }
    const [first] = missing;
    if (first === undefined) return ok('no newest checkpoint failed to save it');
    return warn(
      listSome(
        missing.map(({ text }) => text),
        3,
      ),
      `Fix the cause, then save the code: orch checkpoint create -e ${first.epic}`,
    );
  },
};

/** Null where it cannot be read: the checkpoints' own check says so. */
async function readNewestDocument(ports: DoctorPorts, epic: EpicId) {
  try {
    return (await readTip(ports, epic)).saved?.document ?? null;
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return null;
  }
}

async function readNewest(ports: DoctorPorts, epic: EpicId): Promise<Troubles> {
  const damage = await readDamage(ports, epic);
  if ('newer' in damage) return { newest: [], older: [], newer: [damage.newer], read: 0 };
  const newest = damage.map((one) => describe(epic, one));
  const known = new Set(damage.map(({ commit }) => commit));
  const older: Trouble[] = [];
  let read = 0;
  const onDamage = (error: OrchError) => {
    if (newest.length === 0) older.push(trouble(epic, error));
  };
  try {
    for await (const commit of walkReadable(ports, epic, onDamage, mostRead)) {
      if (known.has(commit.oid) || parseMessage(commit.message) === null) continue;
      try {
        const saved = await readSaved(ports.git, epic, commit);
        read++;
        const brief = await findBriefFault(ports.git, saved);
        if (brief?.kind === 'damaged')
          older.push({
            epic,
            problem: `its brief: ${brief.problem}`,
            object: brief.oid,
            remade: brief.remade,
          });
      } catch (error) {
        if (!isOrchError(error)) throw error;
        older.push(trouble(epic, error));
      }
    }
  } catch (error) {
    if (!isOrchError(error)) throw error;
    if (newest.length === 0) newest.push(trouble(epic, error));
  }
  return { newest, older, newer: [], read };
}

async function readDamage(ports: DoctorPorts, epic: EpicId): Promise<readonly Damage[] | { newer: string }> {
  try {
    return (await readTip(ports, epic)).damage;
  } catch (error) {
    if (!hasCode(error, 'FORMAT_UNSUPPORTED')) throw error;
    return { newer: `${epic}: ${error.message}` };
  }
}

const describe = (epic: EpicId, { problem, object }: Damage): Trouble => {
  return { epic, problem, object, remade: null };
};

function trouble(epic: EpicId, { message, data }: OrchError): Trouble {
  const object = typeof data.object === 'string' ? parseOid(data.object) : null;
  return { epic, problem: message, object, remade: null };
}

/** The one place where an object that is gone here may still be. Fetched beside ours, it changes no ref of ours. */
export async function suggestFetch({ git, repository }: DoctorPorts, epic: EpicId): Promise<string> {
  const remotes = git.name === 'native' ? await listRemotes(repository) : [];
  const remote = remotes.includes('origin') ? 'origin' : remotes[0];
  if (remote === undefined) return 'Only another clone, or a backup, could have it.';
  const target = `refs/orchestration-local/remotes/${remote}/epics/${epic}`;
  return `Bring it back, if the remote has it: git fetch --refetch ${remote} '+${epicRef(epic)}:${target}'`;
}

/** A new checkpoint does without the damaged newest one. What is broken further back is only moved out of the way. */
async function mend(
  ports: DoctorPorts,
  newest: readonly Trouble[],
  older: readonly Trouble[],
): Promise<void> {
  const settings = { ...(await ports.readSettings()), snapshot: false };
  const reason = 'Made again by orch doctor';
  for (const epic of new Set(newest.map((trouble) => trouble.epic)))
    await saveByHand(ports, epic, { trigger: 'recovery', reason, facts: [], agent: null }, settings);
  for (const { object, remade } of older) {
    if (object) ports.git.setAside(object, join(ports.home, 'damaged'));
    if (remade) await ports.git.writeObjects([{ kind: 'blob', bytes: remade }]);
  }
}
