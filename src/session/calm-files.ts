import { join } from 'node:path';
import { amount, readChecked, text, withFields } from '../checks.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { writeTimed } from '../system/timed-file.ts';
import type { EpicId, Micros, Millis } from '../types.ts';

/*
 * Whether an agent's tool calls have to be looked at. Its hooks ask by two files (`integration/calm-line.ts`), because
 * starting orch takes longer than most tools: while `far` lasts, nothing could come of a look; from `due` on, one is
 * made beside the agent. Both are only times: without them every call is looked at.
 */

type Ports = { readonly disk: Disk; readonly home: string };

/** What was spent when an agent was last looked at, and the most between two looks. */
export type Seen = { readonly epic: string; readonly spent: Micros; readonly most: Micros };
const isSeen = withFields<Seen>({ epic: text, spent: amount, most: amount });

function folderOf(home: string): string {
  return join(home, 'calm');
}

const parts = ['far', 'due', 'now', 'busy', 'seen', 'unsaid'] as const;

function pathOf(home: string, name: string, part: (typeof parts)[number]): string {
  return join(folderOf(home), `${name}.${part}`);
}

/** The agent's own name for its conversation, as its hooks find it in their environment; null where it is none. */
export function readCalmName(name: string | undefined): string | null {
  return name !== undefined && /^[\w-]{1,128}$/.test(name) ? name : null;
}

/** Has every call of the agents on an epic looked at; of all agents, where none is given. */
export function wakeAgents({ disk, home }: Ports, epic: EpicId | null): void {
  for (const file of listFolder(folderOf(home)).filter((name) => name.endsWith('.far'))) {
    const seen = epic && readSeen(home, file.slice(0, -'.far'.length));
    if (!seen || seen.epic === epic) removeIfThere(disk, join(folderOf(home), file));
  }
}

/** Has every call of one agent looked at. */
export function wakeAgent({ disk, home }: Ports, name: string | null): void {
  if (name !== null) removeIfThere(disk, pathOf(home, name, 'far'));
}

/** Forgets an agent that is gone. */
export function forgetCalm({ disk, home }: Ports, name: string): void {
  for (const part of parts) removeIfThere(disk, pathOf(home, name, part));
}

export function readSeen(home: string, name: string): Seen | null {
  return readChecked(readTextIfThere(pathOf(home, name, 'seen')), isSeen);
}

/** Has nothing looked at for a while, and a look made beside the agent once one is due. */
export async function writeCalm(
  { disk, home, random }: Ports & { readonly random: Random },
  name: string,
  part: 'far' | 'due',
  lasts: Millis,
): Promise<void> {
  await writeTimed(disk, pathOf(home, name, part), '', lasts, random.id(8));
}

export async function writeSeen(
  { disk, home, random }: Ports & { readonly random: Random },
  name: string,
  { epic, spent, most }: Seen,
): Promise<void> {
  const json = JSON.stringify({ epic, spent, most } satisfies Seen);
  await writeTimed(disk, pathOf(home, name, 'seen'), json, 0, random.id(8));
}

/** Keeps what a look beside the agent found for its user to see: the next call tells it. */
export async function keepUnsaid(
  { disk, home, random }: Ports & { readonly random: Random },
  name: string,
  message: string,
): Promise<void> {
  await writeAtomically(disk, pathOf(home, name, 'unsaid'), Buffer.from(message), random.id(8));
}

export function hasUnsaid(home: string, name: string): boolean {
  return readTextIfThere(pathOf(home, name, 'unsaid')) !== null;
}

/** What is still to be told, once. */
export function takeUnsaid({ disk, home }: Ports, name: string): string | null {
  const path = pathOf(home, name, 'unsaid');
  const message = readTextIfThere(path);
  if (message !== null) removeIfThere(disk, path);
  return message;
}
