import { join } from 'node:path';
import { OrchError } from '../errors.ts';
import { readCommandLine } from '../system/ancestry.ts';
import { sleep } from '../system/clock.ts';
import { listFolder, readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { checkProcess, identifyThisProcess, type ProcessIdentity } from '../system/process.ts';
import type { EpicId, Micros, Millis, SessionId } from '../types.ts';
import { checkLive, type LiveRecord, listLive, liveFolder } from './live.ts';
import { findOrigin } from './origin.ts';
import type { SessionPorts } from './record.ts';

/*
 * While a supervisor watches over an epic, it alone lets the budget rise: what stands in a journal can be written by
 * the agent too. So whoever raises it asks first, and lives until it is answered; the supervisor looks at that very
 * process, and where it comes from.
 */

type RaiseRequest = {
  readonly epic: EpicId;
  /** Null lifts it. */
  readonly limit: Micros | null;
  /** The amount as it was typed, by which the process is known to have asked for this and nothing else. */
  readonly typed: string;
  readonly from: ProcessIdentity;
};

/** A busy supervisor may be in the middle of a checkpoint. */
const patience: Millis = 30_000;

const suffix = '.raise';

/** Asks the supervisor of an epic's session, where there is one, to let the budget rise. */
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
  await writeAtomically(ports.disk, path, Buffer.from(JSON.stringify(request)), ports.random.id(8));
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
    `the session that runs on ${epic} did not answer; nothing was changed`,
    {
      hint: 'Run the same command again in a moment',
      data: { epicId: epic, sessionId: watched.session },
    },
  );
}

function isWatched(live: LiveRecord, epic: EpicId): boolean {
  return live.kind === 'supervised' && live.epic === epic && checkLive(live) === 'alive';
}

const refused = 'refused';

/** Answers those who ask for more money; the limits that were granted. */
export async function answerRaises(ports: SessionPorts, session: SessionId): Promise<(Micros | null)[]> {
  const folder = liveFolder(ports.home);
  const granted: (Micros | null)[] = [];
  for (const name of listFolder(folder)) {
    if (!name.startsWith(`${session}-`) || !name.endsWith(suffix)) continue;
    const path = join(folder, name);
    const request = readRaise(path);
    if (request === null) continue;
    if (isFromPerson(ports.home, request)) {
      granted.push(request.limit);
      removeIfThere(ports.disk, path);
    } else await writeAtomically(ports.disk, path, Buffer.from(refused), ports.random.id(8));
  }
  return granted;
}

/** Null where it was answered already, or is no request. */
function readRaise(path: string): RaiseRequest | null {
  try {
    const { limit, typed, epic, from } = JSON.parse(readTextIfThere(path) ?? '') as RaiseRequest; // checked below
    const isLimit = limit === null || (Number.isSafeInteger(limit) && limit >= 0);
    return isLimit && typeof typed === 'string' && typeof from?.pid === 'number'
      ? { limit, typed, epic, from }
      : null;
  } catch {
    return null;
  }
}

/** Does the process that is named ask for this, and does it come from outside every session? */
function isFromPerson(home: string, { from, typed, epic }: RaiseRequest): boolean {
  if (checkProcess(from) !== 'alive') return false;
  const words = readCommandLine(from.pid);
  const asks = words === null || (words.includes('budget') && words.includes(typed));
  return asks && findOrigin(home, epic, from.pid).kind === 'outside';
}

/** The answer to a call that may be an agent's own. */
export function notFromOutside(epic: EpicId): OrchError {
  return new OrchError('BUDGET_REFUSED', `an agent cannot raise its own budget, and this call may be one's`, {
    hint: `A person raises it by typing the command in a terminal that the session did not start: orch cost budget AMOUNT -e ${epic}`,
    data: { epicId: epic },
  });
}
