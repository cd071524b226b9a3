import { join } from 'node:path';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { hasEnded } from '../state/transition.ts';
import { withLock } from '../system/lock.ts';
import { identifyThisProcess } from '../system/process.ts';
import type { EpicId, SessionId } from '../types.ts';
import { formatAge } from '../units.ts';
import { aboveOf } from './above.ts';
import { readView } from './context.ts';
import { checkLive, type LiveRecord, listLive, removeLive, writeLive } from './live.ts';
import type { SessionPorts } from './record.ts';
import type { SessionSettings } from './settings.ts';

export type Claim = {
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly kind: LiveRecord['kind'];
  readonly worktree: string | null;
  readonly command: readonly string[] | null;
  readonly settings: SessionSettings;
  /** Is a session that may still run, where that cannot be told from here, given up? */
  readonly takeOver: boolean;
};

/**
 * Makes this process the one that works on an epic in this clone, or says who does. Returns the sessions that were
 * given up on: nobody can tell from here whether their processes still run.
 */
export async function claimEpic(ports: SessionPorts, claim: Claim): Promise<SessionId[]> {
  const { epic, session, kind, worktree, command, settings } = claim;
  const { commit: base } = await ports.git.readHead();
  const lock = join(ports.home, 'locks', nameFile(epic, '.claim.lock'));
  return withLock(ports, lock, async () => {
    const givenUp: SessionId[] = [];
    for (const live of listLive(ports.home)) {
      if (live.epic !== epic || live.kind === 'hooked') continue;
      const liveness = checkLive(live);
      // It may have ended, and its process died before it could say so, or lives on: the budget ended a program's.
      if ((liveness === 'elsewhere' || live.kind !== 'supervised') && (await isOver(ports, live))) {
        removeLive(ports.disk, ports.home, live.session);
        continue;
      }
      if (liveness === 'alive') throw isActive(ports, live);
      if (liveness === 'elsewhere' && !claim.takeOver)
        throw isElsewhere(epic, live.session, ports, { number: null, lastSeen: live.since });
      if (liveness === 'elsewhere') givenUp.push(live.session);
    }
    const holder = identifyThisProcess();
    const since = ports.clock.now();
    // A command line may hold what somebody pasted into a prompt.
    const said = command && (await Promise.all(command.map((word) => ports.redact(word))));
    const above = aboveOf(ports.home, epic);
    const record = { session, epic, holder, kind, worktree, command: said, since, base, settings, ...above };
    await writeLive(ports.disk, ports.home, ports.random, record);
    return givenUp;
  });
}

async function isOver(ports: SessionPorts, { epic, session }: LiveRecord): Promise<boolean> {
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && hasEnded(status);
}

function isActive({ clock }: SessionPorts, { epic, session, holder, since }: LiveRecord): OrchError {
  const age = formatAge(Math.max(0, clock.now() - since));
  return new OrchError(
    'SESSION_ACTIVE',
    `${epic} has a running session already: ${session}, pid ${holder.pid}, ${age === 'now' ? 'just started' : `for ${age}`}`,
    {
      hint: `End it with: orch session pause -e ${epic}`,
      data: { epicId: epic, sessionId: session, pid: holder.pid, reason: 'running' },
    },
  );
}

/** A session that is recorded as running, and cannot be seen from here. */
export function isElsewhere(
  epic: EpicId,
  session: SessionId,
  { clock }: SessionPorts,
  {
    number,
    lastSeen,
    host,
  }: { readonly number: number | null; readonly lastSeen: number; readonly host?: string | undefined },
): OrchError {
  const age = formatAge(Math.max(0, clock.now() - lastSeen));
  const name = number === null ? session : `session ${number} (${session})`;
  return new OrchError(
    'SESSION_ACTIVE',
    `${epic} may still be worked on elsewhere: ${name} is recorded as running${host === undefined ? '' : ` on ${host}`}, last seen ${age === 'now' ? 'just now' : `${age} ago`}`,
    {
      hint: 'If it is known to be over, add --take-over',
      data: { epicId: epic, sessionId: session, reason: 'elsewhere' },
    },
  );
}
