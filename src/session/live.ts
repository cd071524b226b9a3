import { join } from 'node:path';
import { nameFile, parseEpicId, parseSessionId } from '../ids.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { checkProcess, type ProcessIdentity } from '../system/process.ts';
import type { EpicId, Millis, Oid, SessionId, WriterId } from '../types.ts';
import type { SessionSettings } from './settings.ts';
import { isOthers } from './writer.ts';

/** Who works on a session in this clone. It says nothing of what was done: losing it loses nothing. */
export type LiveRecord = {
  readonly session: SessionId;
  readonly epic: EpicId;
  readonly holder: ProcessIdentity;
  /** `supervised`: stops on request. `library`: a program of its own. `hooked`: an agent that runs by itself. */
  readonly kind: 'supervised' | 'library' | 'hooked';
  readonly worktree: string | null;
  readonly command: readonly string[] | null;
  readonly since: Millis;
  /** What the files were at the start: a commit. */
  readonly base: Oid | null;
  readonly settings: SessionSettings;
  /** Of an agent that runs by itself: what is shown of its session before anything happens in it. */
  readonly waiting?: { readonly agent: string; readonly writer: WriterId };
  /** The session on another epic that it began below, and that pays for it too. */
  readonly above?: { readonly session: SessionId; readonly epic: EpicId };
  /** The control group of its command, where the system has such. */
  readonly group?: string;
};

export type Liveness = 'alive' | 'dead' | 'elsewhere';

export function liveFolder(home: string): string {
  return join(home, 'live');
}

function pathOf(home: string, session: SessionId): string {
  return join(liveFolder(home), nameFile(session, '.json'));
}

export async function writeLive(disk: Disk, home: string, random: Random, record: LiveRecord): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(record)}\n`);
  await writeAtomically(disk, pathOf(home, record.session), bytes, random.id(8));
}

/** Notes in which control group the command will be, for whoever has to end it if its supervisor dies. */
export async function noteGroup(
  disk: Disk,
  home: string,
  random: Random,
  session: SessionId,
  group: string | null,
): Promise<void> {
  const live = group === null ? null : readLive(home, session);
  if (live !== null && group !== null) await writeLive(disk, home, random, { ...live, group });
}

export function removeLive(disk: Disk, home: string, session: SessionId): void {
  removeIfThere(disk, pathOf(home, session));
  removeIfThere(disk, requestPath(home, session));
}

/** Null where there is none, none that can be read, or one that came along when this clone was copied. */
export function readLive(home: string, session: SessionId): LiveRecord | null {
  const text = readTextIfThere(pathOf(home, session));
  try {
    const record = JSON.parse(text ?? 'null') as LiveRecord | null; // written by `writeLive`, in one step
    if (record === null || isOthers(home, session)) return null;
    return { ...record, session: parseSessionId(record.session), epic: parseEpicId(record.epic) };
  } catch {
    return null; // damaged: nobody can be asked, so nobody is there
  }
}

export function listLive(home: string): LiveRecord[] {
  const names = listFolder(liveFolder(home)).filter((name) => /^sess-[a-z0-9]{4,32}\.json$/.test(name));
  const records = names.sort().map((name) => readLive(home, parseSessionId(name.slice(0, -5))));
  return records.filter((record) => record !== null);
}

export function checkLive(record: LiveRecord): Liveness {
  return checkProcess(record.holder);
}

/** What another process wants of a session's supervisor. */
export type StopRequest = { readonly want: 'pause' | 'complete'; readonly reason: string | null };

export function requestPath(home: string, session: SessionId): string {
  return join(liveFolder(home), nameFile(session, '.request'));
}

export async function requestStop(
  disk: Disk,
  home: string,
  random: Random,
  session: SessionId,
  request: StopRequest,
): Promise<void> {
  await writeAtomically(disk, requestPath(home, session), Buffer.from(JSON.stringify(request)), random.id(8));
}

export function readRequest(home: string, session: SessionId): StopRequest | null {
  const text = readTextIfThere(requestPath(home, session));
  try {
    return JSON.parse(text ?? 'null') as StopRequest | null; // written by `requestStop`, in one step
  } catch {
    return null; // not ours
  }
}
