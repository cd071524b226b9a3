import { join } from 'node:path';
import {
  type Disk,
  listFolder,
  readTextIfThere,
  removeIfThere,
  type WritePorts,
  writeAtomically,
  writeExpiring,
} from '../system/disk.ts';
import type { EpicId, Millis } from '../types.ts';

/*
 * Whether orch must check an agent's tool calls. Its hooks find out from a few small files, because starting orch takes
 * longer than most tools. `far`: until this time, and for this many calls, no check is needed; `now` counts the calls.
 * `due`: from this time on, a check runs in the background. Without these files, every call is checked.
 */

type Ports = { readonly disk: Disk; readonly home: string };

function folderOf(home: string): string {
  return join(home, 'calm');
}

const parts = ['far', 'due', 'now', 'busy', 'unsaid'] as const;

function pathOf(home: string, name: string, part: (typeof parts)[number]): string {
  return join(folderOf(home), `${name}.${part}`);
}

/** The agent's own id for its conversation, as its hooks find it in their environment; null if it is not valid. */
export function readConversationName(name: string | undefined): string | null {
  return name !== undefined && /^[\w-]{1,128}$/.test(name) ? name : null;
}

/** Makes orch check the next call of every agent on an epic; of all agents if the epic is null. */
export function checkNextCalls({ disk, home }: Ports, epic: EpicId | null): void {
  for (const file of listFolder(folderOf(home)).filter((name) => name.endsWith('.far'))) {
    const path = join(folderOf(home), file);
    const [, of] = readTextIfThere(path)?.split(' ') ?? [];
    if (epic === null || of === epic) removeIfThere(disk, path);
  }
}

/** Makes orch check an agent's next call. */
export function checkNextCall({ disk, home }: Ports, name: string | null): void {
  if (name !== null) removeIfThere(disk, pathOf(home, name, 'far'));
}

/** Removes the files of an agent that has ended. */
export function forgetCallChecks({ disk, home }: Ports, name: string): void {
  for (const part of parts) removeIfThere(disk, pathOf(home, name, part));
}

/** Checks are never skipped for longer than this. */
const farFor: Millis = 60_000;
const lookEvery: Millis = 5_000;
/** Practically unlimited, and still a number for every shell. */
const mostCalls = 1_000_000_000;

/** Skips the checks of this many calls of an agent. */
export async function skipCallChecks(
  { disk, home, random }: Ports & WritePorts,
  name: string,
  epic: EpicId,
  calls: number,
): Promise<void> {
  const write = (part: (typeof parts)[number], content: string, lasts: Millis) =>
    writeExpiring(disk, pathOf(home, name, part), `${content}\n`, lasts, random.id(8));
  await write('due', '', lookEvery);
  await write('now', '0', 0);
  await write('far', `${Math.min(calls, mostCalls)} ${epic}`, farFor);
}

/** Keeps a message that a background check found for the user; the next call prints it. */
export async function keepMessage(ports: Ports & WritePorts, name: string, message: string): Promise<void> {
  await writeAtomically(ports, pathOf(ports.home, name, 'unsaid'), message);
}

export function hasKeptMessage(home: string, name: string): boolean {
  return readTextIfThere(pathOf(home, name, 'unsaid')) !== null;
}

/** Returns the kept message, once. */
export function takeKeptMessage({ disk, home }: Ports, name: string): string | null {
  const path = pathOf(home, name, 'unsaid');
  const message = readTextIfThere(path);
  if (message !== null) removeIfThere(disk, path);
  return message;
}
