import { join } from 'node:path';
import { epic as isEpic, session as isSession, orNull, wholeUpTo, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { OrchError, systemCode } from '../../errors.ts';
import { checkLive, listLive } from '../../journal/live.ts';
import type { Orch } from '../../orch.ts';
import { listFolder, makeFolder, removeIfThere, writeAll } from '../../system/disk.ts';
import { tryReadJson } from '../../system/json-file.ts';
import { withLock } from '../../system/lock.ts';
import { arePortsFree } from '../../system/ports.ts';
import {
  checkProcess,
  identifyThisProcess,
  isProcessIdentity,
  type ProcessIdentity,
} from '../../system/process/identity.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { EpicId, SessionId } from '../../types.ts';

/*
 * Workers run servers and tests side by side. Each has a number, its slot, that no other worker in this clone has, and a
 * block of ports of its own. A slot is a file, so it outlives the scheduler that took it as long as its worker does.
 */

export type Slot = {
  /** From 1. */
  readonly slot: number;
  /** The epic of the task whose worker has it. */
  readonly epic: EpicId;
  readonly session: SessionId | null;
  readonly firstPort: number;
  readonly lastPort: number;
  /** The scheduler that took it. */
  readonly holder: ProcessIdentity;
};

const portsEach = 10;
/** Away from what databases and development servers use, and below the ports that systems hand out. */
const lowestPort = 20_000;
/** The block of the first slot differs between clones, because two of them may run convoys at the same time. */
const blocks = 700;

const isSlot = withFields<Slot>({
  slot: wholeUpTo(blocks),
  epic: isEpic,
  session: orNull(isSession),
  firstPort: wholeUpTo(65_535),
  lastPort: wholeUpTo(65_535),
  holder: isProcessIdentity,
});

const folderOf = (home: string) => join(home, 'slots');
const pathOf = (home: string, slot: number) => join(folderOf(home), String(slot));

type SlotPorts = Pick<Orch, 'home' | 'disk' | 'clock' | 'random'>;

/**
 * Takes the lowest free slot whose ports are free for the worker of a task; it stays the task's until `freeSlot`, or until
 * both this process and the worker are gone. A task that has one keeps it.
 */
export async function takeSlot(
  ports: SlotPorts,
  { epic, session = null }: { readonly epic: EpicId; readonly session?: SessionId | null },
): Promise<Slot> {
  const { home, disk } = ports;
  return withLock(ports, join(home, 'locks', 'slots.lock'), async () => {
    await makeFolder(disk, folderOf(home));
    const live = listWorking(home);
    const own = readSlots(home).find((slot) => slot.epic === epic);
    // What an earlier attempt left running may still use its ports.
    const isKept = own && (live.has(epic) || (await arePortsFree(own.firstPort, own.lastPort)));
    if (own) removeIfThere(disk, pathOf(home, own.slot));
    for (const slot of readSlots(home)) if (isFree(slot, live)) removeIfThere(disk, pathOf(home, slot.slot));
    const about = { epic, session, holder: identifyThisProcess() };
    if (isKept && create(ports, { ...own, ...about })) return { ...own, ...about };
    for (let number = 1; number <= blocks; number++) {
      const slot = { ...describe(home, number), ...about };
      if ((await arePortsFree(slot.firstPort, slot.lastPort)) && create(ports, slot)) return slot;
    }
    throw new OrchError('SYSTEM_LIMIT', 'no block of ten free ports is left for another worker', {
      hint: 'End programs that listen on the ports from 20000 to 26999, then run the same command again.',
    });
  });
}

/** Frees the slot of a task. */
export function freeSlot({ home, disk }: SlotPorts, epic: EpicId): void {
  for (const slot of readSlots(home)) if (slot.epic === epic) removeIfThere(disk, pathOf(home, slot.slot));
}

/** Lists the slots that workers have now, the lowest first. */
export function listSlots({ home }: Pick<SlotPorts, 'home'>): Slot[] {
  const live = listWorking(home);
  return readSlots(home).filter((slot) => !isFree(slot, live));
}

/** How a worker, and the setup of its worktree, see their slot. */
export function slotEnvironment({ slot, firstPort, lastPort }: Slot): Environment {
  return { ORCH_SLOT: String(slot), PORT: String(firstPort), ORCH_PORTS: `${firstPort}-${lastPort}` };
}

function describe(home: string, slot: number) {
  const start = Number.parseInt(hash('sha256', home).slice(0, 8), 16);
  const firstPort = lowestPort + ((start + slot - 1) % blocks) * portsEach;
  return { slot, firstPort, lastPort: firstPort + portsEach - 1 };
}

function readSlots(home: string): Slot[] {
  const names = listFolder(folderOf(home)).filter((name) => /^[1-9]\d*$/.test(name));
  const slots = names.map((name) => tryReadJson(join(folderOf(home), name), isSlot));
  return slots.filter((slot) => slot !== null).sort((a, b) => a.slot - b.slot);
}

/** The epics that workers of this clone work on, or may. */
function listWorking(home: string): ReadonlySet<EpicId> {
  return new Set(listLive(home).flatMap((live) => (checkLive(live) === 'dead' ? [] : [live.epic])));
}

function isFree({ holder, epic }: Slot, live: ReadonlySet<EpicId>): boolean {
  return checkProcess(holder) === 'dead' && !live.has(epic);
}

/** False if another process has it meanwhile. A file that a crash left empty is replaced. */
function create({ home, disk }: SlotPorts, slot: Slot): boolean {
  const path = pathOf(home, slot.slot);
  if (tryReadJson(path, isSlot) === null) removeIfThere(disk, path);
  try {
    const fd = disk.open(path, 'wx', 0o644);
    try {
      writeAll(disk, fd, Buffer.from(`${JSON.stringify(slot)}\n`));
    } finally {
      disk.close(fd);
    }
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}
