import { basename, join } from 'node:path';
import type { OwnRows } from '../checkpoint/restored-clone.ts';
import { listOf, optional, text, withFields } from '../checks.ts';
import { explainWrites } from '../errors.ts';
import { isWriterId, parseWriterId } from '../ids.ts';
import { foldAll } from '../state/fold.ts';
import { realPath, statIfThere, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import { machineId } from '../system/process/identity.ts';
import type { EpicId, SessionId, WriterId } from '../types.ts';
import { readPending } from './pending.ts';
import { journalFolder, listJournals, readJournalHeader } from './read.ts';

type WriterFile = {
  readonly id: string;
  readonly machine: string;
  readonly path: string;
  /** Its id before it was found to be restored from an older copy. */
  readonly restoredFrom?: string;
  /** The clones this one was copied from. */
  readonly copiedFrom?: readonly string[];
};

const fileName = 'writer.json';

/** The id of this clone on this machine. A copied or moved clone gets a new one, so that no two live clones share an id. */
export async function identifyWriter(ports: WritePorts, home: string, commonDir: string): Promise<WriterId> {
  const file = join(home, fileName);
  const here = { machine: machineId(), path: realPath(commonDir) };
  const known = readWriter(file);
  if (known && known.machine === here.machine && known.path === here.path) return parseWriterId(known.id);
  return writeNewId(ports, home, here);
}

/** Gives this clone a new id: it was restored from an older copy of itself, which may have written since. */
export async function renewWriter(ports: WritePorts, home: string, commonDir: string): Promise<WriterId> {
  const here = { machine: machineId(), path: realPath(commonDir) };
  const was = readWriter(join(home, fileName))?.id;
  return writeNewId(ports, home, { ...here, ...(was !== undefined && { restoredFrom: was }) });
}

async function writeNewId(
  ports: WritePorts,
  home: string,
  fields: Omit<WriterFile, 'id' | 'copiedFrom'>,
): Promise<WriterId> {
  const id = parseWriterId(`w-${ports.random.id(8)}`);
  const others = [...listOtherWriters(home)];
  const written: WriterFile = { id, ...fields, ...(others.length > 0 && { copiedFrom: others }) };
  await explainWrites('the writer id could not be stored', () =>
    writeJson(ports, join(home, fileName), written),
  );
  return id;
}

/** The rows that only this clone writes: under its own id, and under those its journals were begun with. */
export function readOwnRows(home: string, current: WriterId, epic: EpicId): OwnRows {
  const folder = journalFolder(home);
  const begun = listJournals(folder).flatMap((session) => readJournalHeader(folder, session)?.writer ?? []);
  const others = listOtherWriters(home);
  return {
    writers: new Set([current, ...begun].filter((writer) => !others.has(writer))),
    complete: (state) => foldAll(state, readPending(folder, epic, state).events),
  };
}

/** The id this clone has, and whether it was made for it. */
export type WriterFound =
  | { readonly kind: 'none' }
  /** `own` if it was made on this machine for this folder. */
  | {
      readonly kind: 'own' | 'copied' | 'moved';
      readonly id: string;
      readonly path: string;
      readonly restoredFrom: string | null;
    };

/** Inspects the writer id without writing; the next command that writes replaces one from another machine or folder. */
export function inspectWriter(home: string, commonDir: string): WriterFound {
  const known = readWriter(join(home, fileName));
  if (known === null) return { kind: 'none' };
  const { id, machine, path, restoredFrom = null } = known;
  const found = { id, path, restoredFrom };
  if (machine === machineId() && path === realPath(commonDir)) return { kind: 'own', ...found };
  return { kind: isCopy(home, known) ? 'copied' : 'moved', ...found };
}

/**
 * The writers whose journals are here only because this clone is a copy of theirs. Their sessions stay theirs: two
 * clones that append to the same journal would hide each other's records.
 */
export function listOtherWriters(home: string): ReadonlySet<string> {
  const known = readWriter(join(home, fileName));
  if (known === null) return new Set();
  return new Set([...(known.copiedFrom ?? []), ...(isCopy(home, known) ? [known.id] : [])]);
}

/** Does the clone this id was made for still exist? One folder may have two names. */
function isCopy(home: string, { id, machine, path }: WriterFile): boolean {
  const own = statIfThere(join(home, fileName));
  const original = join(path, basename(home), fileName);
  const theirs = statIfThere(original);
  if (own === null || theirs === null) return false;
  if (own.ino === theirs.ino && own.dev === theirs.dev) return false;
  return machine === machineId() && readWriter(original)?.id === id;
}

/** Does a session with a journal here belong to the clone that this one was copied from? */
export function belongsToOtherClone(home: string, session: SessionId): boolean {
  const others = listOtherWriters(home);
  const writer = others.size > 0 && readJournalHeader(journalFolder(home), session)?.writer;
  return writer ? others.has(writer) : false;
}

const isWriterFile = withFields<WriterFile>({
  id: isWriterId,
  machine: text,
  path: text,
  restoredFrom: optional(text),
  copiedFrom: optional(listOf(text)),
});

/** Null if it is missing or damaged: a new id does no harm. */
function readWriter(file: string): WriterFile | null {
  return readJson(file, isWriterFile);
}
