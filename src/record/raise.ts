import { join } from 'node:path';
import { amount, epic, orNull, text, withFields } from '../checks.ts';
import { OrchError } from '../errors.ts';
import { checkLive, type LiveRecord, listLive, liveFolder } from '../journal/live.ts';
import { sleep } from '../system/clock.ts';
import { listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import {
  checkProcess,
  identifyThisProcess,
  isProcessIdentity,
  type ProcessIdentity,
  readArguments,
} from '../system/process/identity.ts';
import type { EpicId, Micros, Millis, SessionId } from '../types.ts';
import type { SessionPorts } from './ports.ts';
import { findOrigin } from './which/origin.ts';

/*
 * While a supervisor watches an epic, only it can let the budget rise, because the agent can write to journals too. So a
 * process that wants to raise the budget asks first and waits for the answer; the supervisor checks that process and
 * where it comes from.
 */

type RaiseRequest = {
  readonly epic: EpicId;
  /** Null removes the limit. */
  readonly limit: Micros | null;
  /** The amount as typed: proves that the process asked for exactly this. */
  readonly typed: string;
  readonly from: ProcessIdentity;
};

/** A busy supervisor may be making a checkpoint. */
const patience: Millis = 30_000;

const suffix = '.raise';

/** Asks the supervisor of an epic's session, if there is one, to let the budget rise. */
export async function askToRaise(
  ports: SessionPorts,
  epic: EpicId,
  limit: Micros | null,
  typed: string,
): Promise<void> {
  const watched = listLive(ports.home).find((live) => isWatched(live, epic));
  if (!watched) return;
  const path = join(liveFolder(ports.home), `${watched.session}-${ports.random.id(8)}${suffix}`);
  const request: RaiseRequest = { epic, limit, typed, from: identifyThisProcess() };
  await writeJson(ports, path, request);
  const began = ports.clock.elapsed();
  try {
    while (ports.clock.elapsed() - began < patience) {
      const answer = readTextIfThere(path);
      if (answer === null || !isWatched(watched, epic)) return;
      if (answer === refused) throw notFromOutside(epic);
      await sleep(20);
    }
  } finally {
    removeIfThere(ports.disk, path);
  }
  throw new OrchError(
    'SESSION_ACTIVE',
    `the session running on ${epic} did not answer; nothing was changed`,
    {
      hint: 'Run the same command again in a moment.',
      data: { epicId: epic, sessionId: watched.session },
    },
  );
}

function isWatched(live: LiveRecord, epic: EpicId): boolean {
  return live.kind === 'supervised' && live.epic === epic && checkLive(live) === 'alive';
}

const refused = 'refused';

/** Answers requests for a higher budget; returns the granted limits. */
export async function answerRaises(ports: SessionPorts, session: SessionId): Promise<(Micros | null)[]> {
  const folder = liveFolder(ports.home);
  const granted: (Micros | null)[] = [];
  for (const name of listFolder(folder)) {
    if (!name.startsWith(`${session}-`) || !name.endsWith(suffix)) continue;
    const path = join(folder, name);
    const request = readJson(path, isRaise);
    if (request === null) continue; // already answered, or not a request
    if (isFromPerson(ports.home, request)) {
      granted.push(request.limit);
      removeIfThere(ports.disk, path);
    } else await writeAtomically(ports, path, refused);
  }
  return granted;
}

const isRaise = withFields<RaiseRequest>({
  epic,
  limit: orNull(amount),
  typed: text,
  from: isProcessIdentity,
});

/** Does the named process ask for exactly this, and come from outside every session? */
function isFromPerson(home: string, { from, typed, epic }: RaiseRequest): boolean {
  if (checkProcess(from) !== 'alive') return false;
  const words = readArguments(from.pid);
  const asks = words === null || (words.includes('budget') && words.includes(typed));
  return asks && findOrigin(home, epic, from.pid).kind === 'outside';
}

/** The error for a call that may come from the agent itself. */
export function notFromOutside(epic: EpicId): OrchError {
  return new OrchError(
    'BUDGET_REFUSED',
    'an agent cannot raise its own budget, and this call may come from one',
    {
      hint: `A person can raise it in a terminal that the session did not start: orch cost budget AMOUNT -e ${epic}`,
      data: { epicId: epic },
    },
  );
}
