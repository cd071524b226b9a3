import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { isEpicId, nameFile, parseEpicId, parseOid } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import { type Disk, statIfThere, writeUnsynced } from '../system/disk.ts';
import { readLines } from '../system/line-file.ts';
import type { EpicId, Oid } from '../types.ts';
import { epicRef, epicsPrefix } from './document/names-in-git.ts';
import { type Base, nothing, readBase } from './read-base.ts';

export type StorePorts = {
  readonly git: GitEngine;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  /** `<common git dir>/orchestration` */
  readonly home: string;
  /** Called with what happened behind the scenes: a stale lock removed, a damaged checkpoint skipped. */
  readonly report: (what: string) => void;
};

/** The newest checkpoint of an epic as read, and the ref's position. */
export type Tip = Base & { readonly oid: Oid | null };

/** The ids of the epics that have a checkpoint, sorted. A ref with another name there is not ours. */
export async function listEpics(git: GitEngine): Promise<EpicId[]> {
  const refs = await git.listRefs(epicsPrefix);
  const names = [...refs.keys()].map((ref) => ref.slice(epicsPrefix.length));
  return names.filter(isEpicId).map(parseEpicId);
}

/** Reads the newest checkpoint of an epic, or what is readable if that is damaged. */
export async function readTip(ports: StorePorts, epic: EpicId): Promise<Tip> {
  const oid = await ports.git.readRef(epicRef(epic));
  if (oid === null) return { ...nothing, oid };
  const remembered = readRemembered(ports, epic);
  const base = await readBase(ports.git, epic, oid, remembered);
  if (base.parents.length > 0 || base.damage.length === 0) return { ...base, oid };
  // Not even its parents can be read: this clone remembers earlier positions of the ref.
  for (const earlier of remembered) {
    if (earlier === oid) continue;
    const found = await readBase(ports.git, epic, earlier);
    if (found.parents.length > 0) return { ...found, damage: [...base.damage, ...found.damage], oid };
  }
  return { ...base, oid };
}

function rememberedPath({ home }: StorePorts, epic: EpicId): string {
  return join(home, 'tips', nameFile(epic));
}

/** The recent positions of an epic's ref that this clone remembers, newest first. */
export function readRemembered(ports: StorePorts, epic: EpicId): Oid[] {
  const lines = readLines(rememberedPath(ports, epic));
  return lines.filter((line) => /^[0-9a-f]{40,64}$/.test(line)).map(parseOid);
}

/** Remembers recent positions of the ref, in case its newest commit cannot be read. A cache: losing it loses nothing. */
export function remember(ports: StorePorts, epic: EpicId, commits: readonly Oid[], tip: Tip): void {
  const lines = [
    ...commits.toReversed(),
    ...tip.parents.map(({ oid }) => oid),
    ...readRemembered(ports, epic),
  ];
  const path = rememberedPath(ports, epic);
  try {
    const folder = join(ports.home, 'tips');
    if (statIfThere(folder) === null) ports.disk.mkdir(folder);
    writeUnsynced(ports.disk, path, `${[...new Set(lines)].slice(0, 8).join('\n')}\n`);
  } catch (error) {
    ports.report(`${path} could not be written: ${messageOf(error)}`);
  }
}
