import { join } from 'node:path';
import {
  amount,
  epic,
  listOf,
  mapOf,
  number,
  oid,
  oneOf,
  optional,
  orNull,
  text,
  time,
  withFields,
  yesOrNo,
} from '../checks.ts';
import { isSessionId, isWriterId, nameFile, parseSessionId } from '../ids.ts';
import { type Disk, listFolder, removeIfThere, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import { checkProcess, isProcessIdentity, type ProcessIdentity } from '../system/process/identity.ts';
import type { EpicId, Millis, Oid, SessionId, WriterId } from '../types.ts';
import type { SessionSettings } from './session-settings.ts';
import { belongsToOtherClone } from './writer.ts';

/** The process that works on a session in this clone. It says nothing about the work: losing it loses nothing. */
export type LiveRecord = {
  readonly session: SessionId;
  readonly epic: EpicId;
  readonly holder: ProcessIdentity;
  /** `supervised`: stops on request. `library`: a program with its own loop. `hooked`: an agent with orch in its hooks. */
  readonly kind: 'supervised' | 'library' | 'hooked';
  readonly worktree: string | null;
  readonly command: readonly string[] | null;
  readonly since: Millis;
  /** The commit of the files at the start. */
  readonly base: Oid | null;
  readonly settings: SessionSettings;
  /** For a hooked agent: what is shown of its session before its first prompt. */
  readonly waiting?: { readonly agent: string; readonly writer: WriterId };
  /** The session on another epic that it was started from, and that also pays for it. */
  readonly above?: { readonly session: SessionId; readonly epic: EpicId };
  /** The control group of its command, if the system has control groups. */
  readonly group?: string;
};

export type Liveness = 'alive' | 'dead' | 'elsewhere';

export function liveFolder(home: string): string {
  return join(home, 'live');
}

function pathOf(home: string, session: SessionId): string {
  return join(liveFolder(home), nameFile(session, '.json'));
}

type LivePorts = WritePorts & { readonly home: string };

export function writeLive(ports: LivePorts, record: LiveRecord): Promise<void> {
  return writeJson(ports, pathOf(ports.home, record.session), record);
}

/** Records the control group of the command, so that it can be ended if its supervisor dies. */
export async function noteGroup(ports: LivePorts, session: SessionId, group: string | null): Promise<void> {
  const live = group === null ? null : readLive(ports.home, session);
  if (live !== null && group !== null) await writeLive(ports, { ...live, group });
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

const isLiveRecord = withFields<LiveRecord>({
  session: isSessionId,
  epic,
  holder: isProcessIdentity,
  kind: oneOf<LiveRecord['kind']>('supervised', 'library', 'hooked'),
  worktree: orNull(text),
  command: orNull(listOf(text)),
  since: time,
  base: orNull(oid),
  settings: isSettings,
  above: optional(withFields<NonNullable<LiveRecord['above']>>({ session: isSessionId, epic })),
  group: optional(text),
  waiting: optional(withFields<NonNullable<LiveRecord['waiting']>>({ agent: text, writer: isWriterId })),
});

/** Null if there is no record, it cannot be read, or it belongs to the clone that this one was copied from. */
export function readLive(home: string, session: SessionId): LiveRecord | null {
  const record = readJson(pathOf(home, session), isLiveRecord);
  return record === null || belongsToOtherClone(home, session) ? null : record;
}

export function listLive(home: string): LiveRecord[] {
  const names = listFolder(liveFolder(home)).filter((name) => /^sess-[a-z0-9]{4,32}\.json$/.test(name));
  const records = names.sort().map((name) => readLive(home, parseSessionId(name.slice(0, -5))));
  return records.filter((record) => record !== null);
}

export function checkLive(record: LiveRecord): Liveness {
  return checkProcess(record.holder);
}

/** What another process asks of a session's supervisor. */
export type StopRequest = { readonly want: 'pause' | 'complete'; readonly reason: string | null };

function requestPath(home: string, session: SessionId): string {
  return join(liveFolder(home), nameFile(session, '.request'));
}

export function requestStop(ports: LivePorts, session: SessionId, request: StopRequest): Promise<void> {
  return writeJson(ports, requestPath(ports.home, session), request);
}

const isStopRequest = withFields<StopRequest>({
  want: oneOf<StopRequest['want']>('pause', 'complete'),
  reason: orNull(text),
});

export function readRequest(home: string, session: SessionId): StopRequest | null {
  return readJson(requestPath(home, session), isStopRequest);
}
