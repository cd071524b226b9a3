import { epicNotFound } from '../checkpoint/list.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId, parseSessionId } from '../ids.ts';
import { readLive } from '../journal/live.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { type KnownSession, listShown, listWaiting, type SessionInfo } from '../record/sessions.ts';
import { type EpicView, epicExists, readView } from '../record/view.ts';
import type { EpicId } from '../types.ts';
import { mainSession } from './epic-status.ts';

/** A session, by its id. */
export type SessionName = Pick<SessionInfo, 'id' | 'epicId'>;

type SettingsPorts = { readonly home: string; readonly readSettings: () => Promise<SessionSettings> };

/** Completes a session with the settings it was started with, so that facts can be recorded in it. */
export async function loadRunningSession(
  { home, readSettings }: SettingsPorts,
  { epic, session }: Pick<RunningSession, 'epic' | 'session'>,
): Promise<RunningSession> {
  const settings = readLive(home, session)?.settings ?? (await readSettings());
  return { kind: 'running', epic, session, settings };
}

/** Checks the session that a program named, and completes it the same way. */
export async function loadNamedSession(ports: SettingsPorts, name: SessionName): Promise<RunningSession> {
  // Programs without types can pass anything.
  if (typeof name !== 'object' || name === null)
    throw new OrchError('USAGE', 'which session? Pass what startSession returned, or { id, epicId }');
  const session = parseSessionId(name.id);
  return loadRunningSession(ports, { epic: parseEpicId(name.epicId), session });
}

/** Finds a session by its number, its id or the start of its id; by default the epic's main session. */
export function findSession(view: EpicView, home: string, name: string | undefined): KnownSession {
  const number = /^s?(\d{1,9})$/.exec(name ?? '')?.[1];
  const main = name === undefined ? mainSession(view, home) : null;
  const found = main
    ? [main]
    : listShown(view, home).filter(
        ({ id, value }) =>
          (number !== undefined && value.number === Number(number)) ||
          (name !== undefined && name.length > 3 && id.startsWith(name)),
      );
  const [first, ...others] = found;
  if (first === undefined)
    throw new OrchError('SESSION_NOT_FOUND', `${view.epic} has no session ${name ?? 'yet'}`, {
      hint: `List its sessions with: orch log ${view.epic}`,
      data: { epicId: view.epic, session: name ?? null },
    });
  if (others.length > 0)
    throw new OrchError('SESSION_AMBIGUOUS', `${name} matches ${found.length} sessions of ${view.epic}`, {
      hint: `Use one of their ids: ${found.map(({ id }) => id).join(', ')}`,
      data: { sessions: found.map(({ id }) => id) },
    });
  return first;
}

/**
 * Reads an epic, or throws `EPIC_NOT_FOUND`. An epic on which an agent only waits for its first prompt exists too.
 * Reports damaged checkpoints, because they are missing from everything shown of the epic.
 */
export async function readExistingEpic(ports: SessionPorts, epic: EpicId): Promise<EpicView> {
  const view = await readView(ports, epic);
  if (!epicExists(view) && !listWaiting(ports.home).some((waiting) => waiting.epic === epic))
    throw epicNotFound(epic);
  reportDamage(ports, view);
  return view;
}

/** Reports which checkpoints of an epic could not be read. */
export function reportDamage({ report }: Pick<SessionPorts, 'report'>, { epic, tip }: EpicView): void {
  for (const { commit, problem } of tip.damage)
    report(
      `${epic}: a checkpoint could not be read (${commit.slice(0, 12)}: ${problem}). See: orch checkpoint verify --epic ${epic}`,
    );
}
