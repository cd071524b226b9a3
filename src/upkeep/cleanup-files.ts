import { join } from 'node:path';
import { nameIndexFolder } from '../git/work-tree-index.ts';
import { nameFile, parseSessionId } from '../ids.ts';
import { listJournals, readJournal } from '../session/journal.ts';
import { checkLive, liveFolder, readLive } from '../session/live.ts';
import { listFolder, lstatIfThere, statIfThere } from '../system/files.ts';
import type { EpicId, SessionId } from '../types.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import type { FileFacts, Thing } from './cleanup-types.ts';

/* The files beside the repository, folder by folder, that may be removed. What is not named here is never touched. */

/** `runs` says which sessions worked on a run. */
export function readFileThings(
  ports: CleanupPorts,
  runs: ReadonlyMap<string, readonly SessionId[]>,
): Thing[] {
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

/** A file or folder as it is now; null where there is none. */
export function lookAt(path: string): FileFacts | null {
  const stat = lstatIfThere(path);
  if (stat === null) return null;
  const { size, ino, mtimeMs, ctimeMs } = stat;
  const own = { path, mark: `${ino} ${size} ${mtimeMs}`, bytes: size, at: Math.max(mtimeMs, ctimeMs) };
  if (!stat.isDirectory()) return own;
  const inside = listFolder(path)
    .map((name) => lookAt(join(path, name)))
    .filter((file) => file !== null);
  return {
    path,
    mark: [own.mark, ...inside.map(({ mark }) => mark)].join('\n'),
    bytes: inside.reduce((sum, { bytes }) => sum + bytes, 0),
    at: Math.max(own.at, ...inside.map(({ at }) => at)),
  };
}

function inFolder(folder: string, describe: (file: FileFacts, name: string) => Thing | null): Thing[] {
  return listFolder(folder).flatMap((name) => {
    const file = lookAt(join(folder, name));
    const thing = file && describe(file, name);
    return thing ? [thing] : [];
  });
}

/** `<session>.log` and the part before it; a folder holds what a run of a plan printed. */
function readLogs(folder: string, runs: ReadonlyMap<string, readonly SessionId[]>): Thing[] {
  return inFolder(folder, (file, name) => {
    const session = /^(sess-[a-z0-9]{4,32})\.log(\.1)?$/.exec(name)?.[1];
    if (session) return { kind: 'log', sessions: [parseSessionId(session)], file };
    if (!statIfThere(file.path)?.isDirectory()) return null;
    return { kind: 'log', sessions: runs.get(name) ?? [], file };
  });
}

function readTrashedJournals(folder: string): Thing[] {
  const epics = new Map<string, EpicId>();
  for (const session of listJournals(folder)) {
    const epic = readJournal(folder, session)?.header.epic;
    if (epic) epics.set(nameFile(session, '.jsonl'), epic);
  }
  return inFolder(folder, (file, name) => ({
    kind: 'trashed_journal',
    epic: epics.get(name) ?? null,
    file,
  }));
}

function readBriefs(folder: string): Thing[] {
  return inFolder(folder, (file, name) => {
    const session = /^(sess-[a-z0-9]{4,32})\.md$/.exec(name)?.[1];
    return session ? { kind: 'leftover', what: 'brief', session: parseSessionId(session), file } : null;
  });
}

/** Of sessions whose process is gone. One whose session is still to be recovered is kept by its session. */
function readLiveRecords(home: string): Thing[] {
  return inFolder(liveFolder(home), (file, name) => {
    const id = /^(sess-[a-z0-9]{4,32})\.(json|request)$/.exec(name)?.[1];
    if (id === undefined) return null;
    const session = parseSessionId(id);
    const record = readLive(home, session);
    if (record && checkLive(record) !== 'dead') return null;
    return { kind: 'leftover', what: 'record of a process that is gone', session, file };
  });
}

/** What was being written, or worked on, when its writer died. */
function readTemporary(home: string): Thing[] {
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

/** The kept indexes of worktrees that are gone, and the objects of snapshots that died. */
function readSnapshotCaches({ repository, home }: CleanupPorts): Thing[] {
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
