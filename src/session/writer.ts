import { basename, join } from 'node:path';
import type { OwnRows } from '../checkpoint/set-back.ts';
import { listOf, optional, readChecked, text, withFields } from '../checks.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { isWriterId, parseWriterId } from '../ids.ts';
import { foldAll } from '../state/fold.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, realPath, statIfThere, writeAtomically } from '../system/files.ts';
import { machineId } from '../system/process.ts';
import type { EpicId, SessionId, WriterId } from '../types.ts';
import { journalFolder, listJournals, readJournal } from './journal.ts';
import { readPending } from './pending.ts';

type WriterFile = {
  readonly id: string;
  readonly machine: string;
  readonly path: string;
  /** Its id before it was found to be restored from an older copy of itself. */
  readonly restoredFrom?: string;
  /** The clones this one was copied from. */
  readonly copiedFrom?: readonly string[];
};

const fileName = 'writer.json';

/**
 * Who writes from this clone on this machine. A clone that was copied or moved gets a new id,
 * so that no two that live have the same.
 */
export async function identifyWriter(
  disk: Disk,
  random: Random,
  home: string,
  commonDir: string,
): Promise<WriterId> {
  const file = join(home, fileName);
  const here = { machine: machineId(), path: realPath(commonDir) };
  const known = readWriter(file);
  if (known && known.machine === here.machine && known.path === here.path) return parseWriterId(known.id);
  return writeNewId(disk, random, home, here);
}

/** Goes on under a new id: this clone was restored from an older copy of itself, which may have written since. */
export async function renewWriter(
  disk: Disk,
  random: Random,
  home: string,
  commonDir: string,
): Promise<WriterId> {
  const here = { machine: machineId(), path: realPath(commonDir) };
  const was = readWriter(join(home, fileName))?.id;
  return writeNewId(disk, random, home, { ...here, ...(was !== undefined && { restoredFrom: was }) });
}

async function writeNewId(
  disk: Disk,
  random: Random,
  home: string,
  fields: Omit<WriterFile, 'id' | 'copiedFrom'>,
): Promise<WriterId> {
  const id = parseWriterId(`w-${random.id(8)}`);
  const others = [...listOthers(home)];
  const written: WriterFile = { id, ...fields, ...(others.length > 0 && { copiedFrom: others }) };
  const bytes = Buffer.from(`${JSON.stringify(written)}\n`);
  try {
    await writeAtomically(disk, join(home, fileName), bytes, random.id(8));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the writer id could not be stored', error) : error;
  }
  return id;
}

/** What only this clone writes: under its own id, and under those its journals were begun with. */
export function readOwnRows(home: string, current: WriterId, epic: EpicId): OwnRows {
  const folder = journalFolder(home);
  const begun = listJournals(folder).flatMap((session) => readJournal(folder, session)?.header.writer ?? []);
  const others = listOthers(home);
  return {
    writers: new Set([current, ...begun].filter((writer) => !others.has(writer))),
    complete: (state) => foldAll(state, readPending(folder, epic, state).events),
  };
}

/** Who this clone says it is; nothing is written. */
export type WriterFound =
  | { readonly kind: 'none' }
  /** `own` where it was made on this machine, for this folder. */
  | {
      readonly kind: 'own' | 'copied' | 'moved';
      readonly id: string;
      readonly path: string;
      readonly restoredFrom: string | null;
    };

/** Looks at the writer id; one from another machine, or for another folder, is replaced by the next command that writes. */
export function lookAtWriter(home: string, commonDir: string): WriterFound {
  const known = readWriter(join(home, fileName));
  if (known === null) return { kind: 'none' };
  const { id, machine, path, restoredFrom = null } = known;
  const found = { id, path, restoredFrom };
  if (machine === machineId() && path === realPath(commonDir)) return { kind: 'own', ...found };
  return { kind: isCopy(home, known) ? 'copied' : 'moved', ...found };
}

/**
 * The writers whose journals are here only because this clone is a copy of theirs. Their sessions are theirs to go on
 * with: what both wrote behind the same byte of a journal would hide one another.
 */
export function listOthers(home: string): ReadonlySet<string> {
  const known = readWriter(join(home, fileName));
  if (known === null) return new Set();
  return new Set([...(known.copiedFrom ?? []), ...(isCopy(home, known) ? [known.id] : [])]);
}

/** Is the clone this id was made for still there? One folder may have two names. */
function isCopy(home: string, { id, machine, path }: WriterFile): boolean {
  const own = statIfThere(join(home, fileName));
  const original = join(path, basename(home), fileName);
  const theirs = statIfThere(original);
  if (own === null || theirs === null) return false;
  if (own.ino === theirs.ino && own.dev === theirs.dev) return false;
  return machine === machineId() && readWriter(original)?.id === id;
}

/** Is a session that has a journal here another clone's, of which this one is a copy? */
export function isOthers(home: string, session: SessionId): boolean {
  const others = listOthers(home);
  const writer = others.size > 0 && readJournal(journalFolder(home), session)?.header.writer;
  return writer ? others.has(writer) : false;
}

const isWriterFile = withFields<WriterFile>({
  id: isWriterId,
  machine: text,
  path: text,
  restoredFrom: optional(text),
  copiedFrom: optional(listOf(text)),
});

/** Null where it is missing or damaged: a new one is as good. */
function readWriter(file: string): WriterFile | null {
  return readChecked(readTextIfThere(file), isWriterFile);
}
