import { join } from 'node:path';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import { checkLive, type LiveRecord, listLive, removeLive, writeLive } from '../journal/live.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import { lookUp } from '../keyed.ts';
import { findPayingSession } from '../record/charge-above.ts';
import type { SessionPorts } from '../record/ports.ts';
import { readView } from '../record/view.ts';
import { hasEnded } from '../state/transition.ts';
import { withLock } from '../system/lock.ts';
import { identifyThisProcess } from '../system/process/identity.ts';
import type { EpicId, SessionId } from '../types.ts';
import { formatAge } from '../units.ts';

type Claim = {
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly kind: LiveRecord['kind'];
  readonly worktree: string | null;
  readonly command: readonly string[] | null;
  readonly settings: SessionSettings;
  /** Give up sessions that may still be running where this clone cannot check? */
  readonly takeOver: boolean;
};

/**
 * Makes this process the only one that works on an epic in this clone, or throws `SESSION_ACTIVE`. Returns the sessions
 * given up by a take-over: this clone cannot check whether their processes still run.
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
      // The record can outlive its session: its process died before removing it, or a budget ended a program's session.
      if ((liveness === 'elsewhere' || live.kind !== 'supervised') && (await isOver(ports, live))) {
        removeLive(ports.disk, ports.home, live.session);
        continue;
      }
      if (liveness === 'alive') throw activeHere(ports, live);
      if (liveness === 'elsewhere' && !claim.takeOver)
        throw activeElsewhere(epic, live.session, ports, { number: null, lastSeen: live.since });
      if (liveness === 'elsewhere') givenUp.push(live.session);
    }
    const holder = identifyThisProcess();
    const since = ports.clock.now();
    // A command line may contain a secret that was pasted into a prompt.
    const redacted = command && (await Promise.all(command.map((word) => ports.redact(word))));
    const about = { session, epic, kind, worktree, command: redacted, base, settings };
    await writeLive(ports, { ...about, holder, since, ...findPayingSession(ports.home, epic) });
    return givenUp;
  });
}

async function isOver(ports: SessionPorts, { epic, session }: LiveRecord): Promise<boolean> {
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && hasEnded(status);
}

function activeHere({ clock }: SessionPorts, { epic, session, holder, since }: LiveRecord): OrchError {
  const age = formatAge(Math.max(0, clock.now() - since));
  return new OrchError(
    'SESSION_ACTIVE',
    `${epic} already has a running session: ${session}, pid ${holder.pid}, ${age === 'now' ? 'just started' : `for ${age}`}`,
    {
      hint: `End it with: orch session pause -e ${epic}`,
      data: { epicId: epic, sessionId: session, pid: holder.pid, reason: 'running' },
    },
  );
}

/** Makes the error for a session that is recorded as running where this clone cannot check. */
export function activeElsewhere(
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
    `${epic} may still be in use elsewhere: ${name} is recorded as running${host === undefined ? '' : ` on ${host}`}, last seen ${age === 'now' ? 'just now' : `${age} ago`}`,
    {
      hint: 'If you know that it has ended, add --take-over',
      data: { epicId: epic, sessionId: session, reason: 'elsewhere' },
    },
  );
}
