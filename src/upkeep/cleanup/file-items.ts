import { join } from 'node:path';
import { nameIndexFolder } from '../../git/snapshot/kept-index.ts';
import { nameFile, parseSessionId } from '../../ids.ts';
import { checkLive, liveFolder, readLive } from '../../journal/live.ts';
import { listJournals, readJournalHeader } from '../../journal/read.ts';
import { listFolder, lstatIfThere, statIfThere } from '../../system/disk.ts';
import type { EpicId, SessionId } from '../../types.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import type { CleanupItem, FileFacts } from './plan-cleanup.ts';

/** Lists the files in orch's own folders that may be removed; all others are never touched. `runs` maps runs to their sessions. */
export function readFileItems(
  ports: CleanupPorts,
  runs: ReadonlyMap<string, readonly SessionId[]>,
): CleanupItem[] {
  const { home } = ports;
  return [
    ...readLogs(join(home, 'logs'), runs),
    ...readTrashedJournals(join(home, 'trash')),
    ...inFolder(join(home, 'damaged'), (file) => ({ kind: 'damaged', file })),
    ...readBriefs(join(home, 'briefs')),
    ...readLiveRecords(home),
    ...readSnapshotCaches(ports),
    ...readTemporary(home),
  ];
}

/** Reads a file or folder as it is now; null if there is none. */
export function readFileFacts(path: string): FileFacts | null {
  const stat = lstatIfThere(path);
  if (stat === null) return null;
  const { size, ino, mtimeMs, ctimeMs } = stat;
  const own = { path, mark: `${ino} ${size} ${mtimeMs}`, bytes: size, at: Math.max(mtimeMs, ctimeMs) };
  if (!stat.isDirectory()) return own;
  const inside = listFolder(path)
    .map((name) => readFileFacts(join(path, name)))
    .filter((file) => file !== null);
  return {
    path,
    mark: [own.mark, ...inside.map(({ mark }) => mark)].join('\n'),
    bytes: inside.reduce((sum, { bytes }) => sum + bytes, 0),
    at: Math.max(own.at, ...inside.map(({ at }) => at)),
  };
}

function inFolder(
  folder: string,
  describe: (file: FileFacts, name: string) => CleanupItem | null,
): CleanupItem[] {
  return listFolder(folder).flatMap((name) => {
    const file = readFileFacts(join(folder, name));
    const item = file && describe(file, name);
    return item ? [item] : [];
  });
}

/** `<session>.log` and its older part `<session>.log.1`; a folder holds the output of a plan's run. */
function readLogs(folder: string, runs: ReadonlyMap<string, readonly SessionId[]>): CleanupItem[] {
  return inFolder(folder, (file, name) => {
    const session = /^(sess-[a-z0-9]{4,32})\.log(\.1)?$/.exec(name)?.[1];
    if (session) return { kind: 'log', sessions: [parseSessionId(session)], file };
    if (!statIfThere(file.path)?.isDirectory()) return null;
    return { kind: 'log', sessions: runs.get(name) ?? [], file };
  });
}

function readTrashedJournals(folder: string): CleanupItem[] {
  const epics = new Map<string, EpicId>();
  for (const session of listJournals(folder)) {
    const epic = readJournalHeader(folder, session)?.epic;
    if (epic) epics.set(nameFile(session, '.jsonl'), epic);
  }
  return inFolder(folder, (file, name) => ({
    kind: 'trashed_journal',
    epic: epics.get(name) ?? null,
    file,
  }));
}

function readBriefs(folder: string): CleanupItem[] {
  return inFolder(folder, (file, name) => {
    const session = /^(sess-[a-z0-9]{4,32})\.md$/.exec(name)?.[1];
    return session ? { kind: 'leftover', what: 'brief', session: parseSessionId(session), file } : null;
  });
}

/** The records of sessions whose process is gone. If the session is not recovered yet, its record is kept. */
function readLiveRecords(home: string): CleanupItem[] {
  return inFolder(liveFolder(home), (file, name) => {
    const id = /^(sess-[a-z0-9]{4,32})\.(json|request)$/.exec(name)?.[1];
    if (id === undefined) return null;
    const session = parseSessionId(id);
    const record = readLive(home, session);
    if (record && checkLive(record) !== 'dead') return null;
    return { kind: 'leftover', what: 'record of a process that is gone', session, file };
  });
}

/** Files that were being written when the process died. */
function readTemporary(home: string): CleanupItem[] {
  const below = (folder: string) => listFolder(folder).map((name) => join(folder, name));
  const folders = [home, ...below(home), ...below(join(home, 'snapshot-index'))];
  const isHalf = (name: string) => /^(?:\.tmp-|work-|restore-index-|rules-index-)/.test(name);
  return folders
    .filter((folder) => statIfThere(folder)?.isDirectory())
    .flatMap((folder) =>
      inFolder(folder, (file, name) =>
        isHalf(name) ? { kind: 'leftover', what: 'half-written file', session: null, file } : null,
      ),
    );
}

/** The indexes of worktrees that are gone, and the objects of unfinished snapshots. */
function readSnapshotCaches({ repository, home }: CleanupPorts): CleanupItem[] {
  const { gitDir, commonDir } = repository;
  const worktrees = listFolder(join(commonDir, 'worktrees')).map((name) =>
    join(commonDir, 'worktrees', name),
  );
  const known = new Set([gitDir, commonDir, ...worktrees].map(nameIndexFolder));
  const leftover = (what: string, isLeft: (name: string) => boolean) => (file: FileFacts, name: string) =>
    isLeft(name) ? { kind: 'leftover' as const, what, session: null, file } : null;
  const indexes = leftover('index of a worktree that is gone', (name) => !known.has(name));
  const objects = leftover('objects of a snapshot that was never finished', (name) => name !== 'spare');
  return [
    ...inFolder(join(home, 'snapshot-index'), indexes),
    ...inFolder(join(home, 'snapshot-objects'), objects),
    ...inFolder(join(commonDir, 'objects', 'snapshot-objects'), objects),
  ];
}
