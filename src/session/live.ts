import { join } from 'node:path';
import {
  amount,
  type Check,
  listOf,
  mapOf,
  number,
  oid,
  oneOf,
  optional,
  orNull,
  readChecked,
  text,
  time,
  withFields,
  yesOrNo,
} from '../checks.ts';
import { isEpicId, isSessionId, isWriterId, nameFile, parseSessionId } from '../ids.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { checkProcess, isProcessIdentity, type ProcessIdentity } from '../system/process.ts';
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

const isSettings = withFields<SessionSettings>({
  policy: withFields<SessionSettings['policy']>({
    interval: orNull(number),
    on: listOf(text),
    cost: listOf(number),
    context: optional(mapOf(text)),
  }),
  keep: number,
  snapshot: yesOrNo,
  maxFileBytes: number,
  stopGrace: number,
  newEpicBudget: orNull(amount),
});

const epicId: Check = (value) => typeof value === 'string' && isEpicId(value);

const isLiveRecord = withFields<LiveRecord>({
  session: isSessionId,
  epic: epicId,
  holder: isProcessIdentity,
  kind: oneOf<LiveRecord['kind']>('supervised', 'library', 'hooked'),
  worktree: orNull(text),
  command: orNull(listOf(text)),
  since: time,
  base: orNull(oid),
  settings: isSettings,
  above: optional(withFields<NonNullable<LiveRecord['above']>>({ session: isSessionId, epic: epicId })),
  group: optional(text),
  waiting: optional(withFields<NonNullable<LiveRecord['waiting']>>({ agent: text, writer: isWriterId })),
});

/** Null where there is none, none that can be read, or one that came along when this clone was copied. */
export function readLive(home: string, session: SessionId): LiveRecord | null {
  // Damaged: nobody can be asked, so nobody is there.
  const record = readChecked(readTextIfThere(pathOf(home, session)), isLiveRecord);
  return record === null || isOthers(home, session) ? null : record;
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

const isStopRequest = withFields<StopRequest>({
  want: oneOf<StopRequest['want']>('pause', 'complete'),
  reason: orNull(text),
});

export function readRequest(home: string, session: SessionId): StopRequest | null {
  return readChecked(readTextIfThere(requestPath(home, session)), isStopRequest);
}
