import { join } from 'node:path';
import { isOn } from '../checkpoint/policy.ts';
import { hash } from '../digest.ts';
import { parseSessionId } from '../ids.ts';
import type { HookCall } from '../integration/agent-event.ts';
import type { Gate } from '../integration/gate.ts';
import { isApproved } from '../integration/trust.ts';
import { lookUp } from '../keyed.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { tryLock } from '../system/lock.ts';
import type { Millis, Oid, SessionId } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import { findLink } from './agent-link.ts';
import { type BaselinePorts, listGates, readTreeOfWork, runBaseline } from './baseline.ts';
import { readView } from './context.ts';
import { checkLive, type LiveRecord, readLive } from './live.ts';

/* After a turn the gates run by themselves, in a process of their own beside the agent: its hook does not wait. */

type GatePorts = AgentPorts & BaselinePorts;

/** The session whose gates are to be looked at now that its turn is over; null where there is nothing to run. */
export async function findTurnSession(
  ports: GatePorts,
  { agentSession }: Pick<HookCall, 'agentSession'>,
  isTrusted: boolean,
): Promise<SessionId | null> {
  const link = findLink(ports.home, agentSession);
  if (link === null || (await chooseGates(ports, isTrusted)).length === 0) return null;
  return readAtWork(ports, link.session) && link.session;
}

/** Only what the user approved runs by itself; and nothing is repaired behind the back of who works on the files. */
async function chooseGates(ports: GatePorts, isTrusted: boolean): Promise<readonly Gate[]> {
  const { worktree } = ports.repository;
  if (worktree === null) return [];
  const gates = listGates(await ports.readConfig(), worktree);
  return isTrusted || isApproved(ports.home, gates) ? gates.map((gate) => ({ ...gate, fix: null })) : [];
}

/** The live record of an agent that runs by itself; null where it is gone. A supervisor sees to its own gates. */
function readAtWork({ home }: GatePorts, session: SessionId): LiveRecord | null {
  const live = readLive(home, session);
  return live?.kind === 'hooked' && checkLive(live) === 'alive' ? live : null;
}

/** Is there a gate that has not run on exactly these files? */
export function areGatesDue(gates: readonly Gate[], { gates: known }: State, tree: Oid): boolean {
  return gates.some(({ name }) => lookUp(known, name)?.value.tree !== tree);
}

/**
 * Runs the gates after a turn, one run at a time in a worktree. A turn that ends while they run leaves its wish, and
 * whoever runs them sees to it afterwards: the last turn is the one whose result matters.
 */
export async function runTurnGates(
  ports: GatePorts,
  session: SessionId,
  isTrusted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const gates = await chooseGates(ports, isTrusted);
  const { disk, home, random } = ports;
  const place = join(home, 'locks', `gates-${hash('sha256', ports.repository.worktree ?? '').slice(0, 16)}`);
  const wish = `${place}.wish`;
  const takeWish = () => {
    const wanted = readTextIfThere(wish);
    return removeIfThere(disk, wish) ? wanted : null;
  };
  await writeAtomically(disk, wish, Buffer.from(session), random.id(8));
  // Looked at again after letting go: a wish may have come between the last look and that.
  while (!signal.aborted && readTextIfThere(wish) !== null) {
    const isMine = await tryLock(ports, `${place}.lock`, async () => {
      for (let wanted = takeWish(); wanted !== null && !signal.aborted; wanted = takeWish())
        await runOnce(ports, parseSessionId(wanted), gates, signal);
    });
    if (!isMine) return;
  }
}

/** How often it is seen whether the agent is still there. */
const lookInterval: Millis = 1_000;

async function runOnce(
  ports: GatePorts,
  session: SessionId,
  gates: readonly Gate[],
  signal: AbortSignal,
): Promise<void> {
  const live = readAtWork(ports, session);
  const { worktree } = ports.repository;
  if (live === null || worktree === null) return;
  const { epic, settings } = live;
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  if (status === undefined || hasEnded(status)) return;
  const tree = await readTreeOfWork(ports, settings.maxFileBytes);
  if (tree === null || !areGatesDue(gates, state, tree)) return;
  const stop = new AbortController();
  const look = setInterval(() => {
    if (readAtWork(ports, session) === null) stop.abort();
  }, lookInterval);
  try {
    await runBaseline(ports, {
      place: { kind: 'running', epic, session, settings },
      worktree,
      gates,
      atStart: false,
      // A turn is a piece of work that is over.
      trigger: isOn(settings.policy, 'task') ? 'task' : null,
      signal: AbortSignal.any([signal, stop.signal]),
      isWanted: (bound) => bound !== null && readAtWork(ports, session) !== null,
    });
  } finally {
    clearInterval(look);
  }
}
