import { join } from 'node:path';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { writeTimed } from '../system/timed-file.ts';
import type { EpicId, Millis } from '../types.ts';

/*
 * Whether an agent's tool calls have to be looked at. Its hooks ask by a few small files (`integration/calm-line.ts`),
 * because starting orch takes longer than most tools. `far`: until then, and for so many calls, nothing could come of a
 * look; `now` counts them. `due`: from then on one is made beside the agent. Without these every call is looked at.
 */

type Ports = { readonly disk: Disk; readonly home: string };

function folderOf(home: string): string {
  return join(home, 'calm');
}

const parts = ['far', 'due', 'now', 'busy', 'unsaid'] as const;

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
    const path = join(folderOf(home), file);
    const [, of] = readTextIfThere(path)?.split(' ') ?? [];
    if (epic === null || of === epic) removeIfThere(disk, path);
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

/** In doubt a call is looked at: nothing is taken for granted longer than this. */
const farFor: Millis = 60_000;
const lookEvery: Millis = 5_000;
/** As good as without end, and still a number for every shell. */
const mostCalls = 1_000_000_000;

/** Lets so many calls of an agent on this epic pass. */
export async function letPass(
  { disk, home, random }: Ports & { readonly random: Random },
  name: string,
  epic: EpicId,
  calls: number,
): Promise<void> {
  const write = (part: (typeof parts)[number], content: string, lasts: Millis) =>
    writeTimed(disk, pathOf(home, name, part), `${content}\n`, lasts, random.id(8));
  await write('due', '', lookEvery);
  await write('now', '0', 0);
  await write('far', `${Math.min(calls, mostCalls)} ${epic}`, farFor);
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
