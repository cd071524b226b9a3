import { join } from 'node:path';
import { findBriefFault } from '../../checkpoint/brief/write-brief.ts';
import { parseMessage } from '../../checkpoint/document/message.ts';
import { epicRef } from '../../checkpoint/document/names-in-git.ts';
import { walkReadable } from '../../checkpoint/list.ts';
import { type Damage, readSaved } from '../../checkpoint/read-base.ts';
import { listEpics, readTip } from '../../checkpoint/tip.ts';
import { hasCode, isOrchError, type OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { suggestRemote } from '../../restore/find-target.ts';
import { saveByHand } from '../../session/calls.ts';
import type { EpicId, Oid } from '../../types.ts';
import { count } from '../../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok, warn } from './finding.ts';

/** How many of an epic's newest checkpoints are read; `orch checkpoint verify` reads all of them. */
const mostRead = 10;

type Trouble = {
  readonly epic: EpicId;
  readonly problem: string;
  readonly object: Oid | null;
  /** The same object, rebuilt; null if that is not possible. */
  readonly remade: Buffer | null;
};
type Troubles = {
  readonly newest: readonly Trouble[];
  readonly older: readonly Trouble[];
  /** Epics that a newer orch wrote. */
  readonly newer: readonly string[];
  readonly read: number;
};

const checkpoints: Check = {
  name: 'checkpoints',
  run: async (ports) => {
    const epics = await listEpics(ports.git);
    const found = await Promise.all(epics.map((epic) => readNewest(ports, epic)));
    const newest = found.flatMap((one) => one.newest);
    const older = found.flatMap((one) => one.older);
    const newer = found.flatMap((one) => one.newer);
    if (newer.length > 0)
      return fail(listSome(newer, 3), 'Update orch: nothing is damaged, but a newer version wrote it');
    const read = found.reduce((sum, one) => sum + one.read, 0);
    if (newest.length + older.length === 0)
      return ok(`${count(epics.length, 'epic')}, newest ${count(read, 'checkpoint')} read`);
    const evidence = [...newest, ...older].map(({ epic, problem }) => `${epic}: ${problem}`);
    const first = older.find(({ remade }) => remade === null);
    const fix = [
      newest.length > 0
        ? 'Rebuild the newest checkpoint from the one before it and the journals: orch doctor --fix. The next checkpoint does so too.'
        : '',
      older.some(({ remade }) => remade !== null)
        ? 'Rebuild the brief from its checkpoint: orch doctor --fix.'
        : '',
      first
        ? `An older checkpoint cannot be rebuilt, but the newer ones do not need it. ${await suggestFetch(ports, first.epic)}`
        : '',
    ];
    return fail(listSome(evidence, 3), fix.filter((part) => part !== '').join(' '), () =>
      repairCheckpoints(ports, newest, older),
    );
  },
};

/** An automatic checkpoint that could not save the code shows no error to the user. */
const code: Check = {
  name: 'code',
  run: async (ports) => {
    const epics = await listEpics(ports.git);
    const missing: { epic: EpicId; text: string }[] = [];
    for (const epic of epics) {
      const document = await readNewestDocument(ports, epic);
      if (document?.snapshotFailed !== undefined)
        missing.push({
          epic,
          text: `${epic}: checkpoint ${document.seq} has no code: ${document.snapshotFailed}`,
        });
    }
    const [first] = missing;
    if (first === undefined) return ok('saved with the newest checkpoints');
    return warn(
      listSome(
        missing.map(({ text }) => text),
        3,
      ),
      `Fix the cause, then save the code: orch checkpoint create -e ${first.epic}`,
    );
  },
};

/** Null if it cannot be read: the check `checkpoints` reports that. */
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
  const newest = damage.map(({ problem, object }): Trouble => ({ epic, problem, object, remade: null }));
  const known = new Set(damage.map(({ commit }) => commit));
  const older: Trouble[] = [];
  let read = 0;
  const onDamage = (error: OrchError) => {
    if (newest.length === 0) older.push(describeError(epic, error));
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
        older.push(describeError(epic, error));
      }
    }
  } catch (error) {
    if (!isOrchError(error)) throw error;
    if (newest.length === 0) newest.push(describeError(epic, error));
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

function describeError(epic: EpicId, { message, data }: OrchError): Trouble {
  const object = typeof data.object === 'string' ? parseOid(data.object) : null;
  return { epic, problem: message, object, remade: null };
}

/** A remote may still have a lost object. The fetch stores it next to our refs and changes none of them. */
export async function suggestFetch(ports: DoctorPorts, epic: EpicId): Promise<string> {
  const remote = await suggestRemote(ports);
  if (remote === undefined) return 'Only another clone or a backup may still have it.';
  const target = `refs/orchestration-local/remotes/${remote}/epics/${epic}`;
  return `Fetch it, if the remote has it: git fetch --refetch ${remote} '+${epicRef(epic)}:${target}'`;
}

/** A new checkpoint replaces the damaged newest one. Damaged objects further back are moved out of the way. */
async function repairCheckpoints(
  ports: DoctorPorts,
  newest: readonly Trouble[],
  older: readonly Trouble[],
): Promise<void> {
  const settings = { ...(await ports.readSettings()), snapshot: false };
  const reason = 'Rebuilt by orch doctor';
  for (const epic of new Set(newest.map((trouble) => trouble.epic)))
    await saveByHand(ports, epic, { trigger: 'recovery', reason, facts: [], agent: null }, settings);
  for (const { object, remade } of older) {
    if (object) ports.git.moveDamagedObject(object, join(ports.home, 'damaged'));
    if (remade) await ports.git.writeObjects([{ kind: 'blob', bytes: remade }]);
  }
}

export const checkpointChecks: readonly Check[] = [checkpoints, code];
