import { join } from 'node:path';
import type { GitEngine } from '../git/engine.ts';
import { isEpicId, nameFile, parseEpicId, parseOid } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, statIfThere, writeAll } from '../system/files.ts';
import type { EpicId, Oid } from '../types.ts';
import { type Base, nothing, readBase } from './read.ts';
import { epicRef, epicsPrefix } from './tree.ts';

export type StorePorts = {
  readonly git: GitEngine;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  /** `<common git dir>/orchestration` */
  readonly home: string;
  /** Told of what went on behind the scenes: a stale lock removed, a damaged checkpoint passed over. */
  readonly report: (what: string) => void;
};

/** The newest checkpoint of an epic as it was read, and where its ref stood. */
export type Tip = Base & { readonly oid: Oid | null };

/** The ids of the epics that have a checkpoint, sorted. A ref of another name there is somebody else's. */
export async function listEpics(git: GitEngine): Promise<EpicId[]> {
  const refs = await git.listRefs(epicsPrefix);
  const names = [...refs.keys()].map((ref) => ref.slice(epicsPrefix.length));
  return names.filter(isEpicId).map(parseEpicId);
}

/** What is known of an epic: its newest checkpoint, or what can be had if that is damaged. */
export async function readTip(ports: StorePorts, epic: EpicId): Promise<Tip> {
  const oid = await ports.git.readRef(epicRef(epic));
  if (oid === null) return { ...nothing, oid };
  const remembered = readRemembered(ports, epic);
  const base = await readBase(ports.git, epic, oid, remembered);
  if (base.parents.length > 0 || base.damage.length === 0) return { ...base, oid };
  // Not even its parents can be read: this clone remembers where the ref stood before.
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

/** Where an epic's ref stood lately, the newest first, as far as this clone remembers. */
export function readRemembered(ports: StorePorts, epic: EpicId): Oid[] {
  const lines = readTextIfThere(rememberedPath(ports, epic))?.split('\n') ?? [];
  return lines.filter((line) => /^[0-9a-f]{40,64}$/.test(line)).map(parseOid);
}

/** Where the ref stood lately, for the day its newest commit cannot be read. A cache: losing it loses nothing. */
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
    const fd = ports.disk.open(path, 'w', 0o644);
    try {
      writeAll(ports.disk, fd, Buffer.from(`${[...new Set(lines)].slice(0, 8).join('\n')}\n`));
    } finally {
      ports.disk.close(fd);
    }
  } catch (error) {
    ports.report(`${path} could not be written: ${error instanceof Error ? error.message : error}`);
  }
}
