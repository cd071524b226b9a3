import { join } from 'node:path';
import { number, oneOf, orNull, text, time, withFields } from '../checks.ts';
import { hash } from '../digest.ts';
import { listFolder, removeIfThere, statIfThere, type WritePorts, writeNew } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import type { Millis } from '../types.ts';
import { isNotice, type Notice } from './notice.ts';

/*
 * What is to be delivered: a file for each notice and receiver, local to this machine. The file is made once and never
 * replaced by a second note of the same happening; only who holds its lock changes it, from queued to sent or dead. What
 * was sent stays for a while as a mark, so that what is noted again is not sent again.
 */

export type Entry = {
  readonly notice: Notice;
  readonly receiver: string;
  readonly state: 'queued' | 'sent' | 'dead' | 'dropped';
  /** When the next attempt is due; if it is not queued, since when. */
  readonly at: Millis;
  /** How many were begun: one that a crash cut off counts. */
  readonly attempts: number;
  /** Why the last one failed. */
  readonly reason: string | null;
};

type Ports = WritePorts & { readonly home: string };

/** How long what was sent or dropped is remembered. Older happenings are not queued. */
export const keptFor: Millis = 7 * 24 * 3_600_000;

const isEntry = withFields<Entry>({
  notice: isNotice,
  receiver: text,
  state: oneOf<Entry['state']>('queued', 'sent', 'dead', 'dropped'),
  at: time,
  attempts: number,
  reason: orNull(text),
});

export const outboxFolder = (home: string) => join(home, 'notify', 'entries');

/** The name of an entry's files. */
export function nameEntry({ notice, receiver }: Pick<Entry, 'notice' | 'receiver'>): string {
  return hash('sha256', JSON.stringify([notice.id, receiver])).slice(0, 32);
}

function pathOf(home: string, name: string): string {
  return join(outboxFolder(home), `${name}.json`);
}

export function lockPath(home: string, name: string): string {
  return join(home, 'notify', 'locks', `${name}.lock`);
}

/** Queues a notice for a receiver, unless it was queued before, whatever has become of it. */
export async function queueNotice(
  ports: Ports,
  notice: Notice,
  receiver: string,
  now: Millis,
): Promise<void> {
  const entry: Entry = { notice, receiver, state: 'queued', at: now, attempts: 0, reason: null };
  const path = pathOf(ports.home, nameEntry(entry));
  // Looked at first: most happenings that are noted again need no write.
  if (statIfThere(path) === null) await writeNew(ports, path, `${JSON.stringify(entry)}\n`);
}

export function readEntry(home: string, name: string): Entry | null {
  return readJson(pathOf(home, name), isEntry);
}

/** Replaces an entry. Only who holds its lock may. */
export function writeEntry(ports: Ports, entry: Entry): Promise<void> {
  return writeJson(ports, pathOf(ports.home, nameEntry(entry)), entry);
}

/** Reads the entries, oldest notice first. What was read before and has not changed since is taken from `known`. */
export function readOutbox(
  home: string,
  known: Map<string, { readonly mark: string; readonly entry: Entry }> = new Map(),
): Entry[] {
  const entries = listFolder(outboxFolder(home)).flatMap((file) => {
    const [, name] = /^([0-9a-f]{32})\.json$/.exec(file) ?? [];
    const stat = name === undefined ? null : statIfThere(pathOf(home, name));
    if (name === undefined || stat === null) return [];
    const mark = `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    const before = known.get(name);
    const entry = before?.mark === mark ? before.entry : readEntry(home, name);
    if (entry === null) return [];
    known.set(name, { mark, entry });
    return [entry];
  });
  return entries.sort((a, b) => a.notice.at - b.notice.at || (a.notice.id < b.notice.id ? -1 : 1));
}

/** Forgets what was sent or dropped long ago. */
export function forgetOld({ disk, home }: Ports, now: Millis): void {
  for (const entry of readOutbox(home)) {
    const isOver = entry.state === 'sent' || entry.state === 'dropped';
    if (!isOver || now - entry.at < keptFor) continue;
    removeIfThere(disk, pathOf(home, nameEntry(entry)));
    removeIfThere(disk, lockPath(home, nameEntry(entry)));
  }
}
