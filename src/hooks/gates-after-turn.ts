import { join } from 'node:path';
import type { HookCall } from '../agents/calls/hook-call.ts';
import { isOn } from '../checkpoint/policy.ts';
import { isApproved } from '../config/trust.ts';
import { hash } from '../digest.ts';
import type { Gate } from '../gates/gate.ts';
import { type BaselinePorts, listGates, readTreeWithoutMark, runBaseline } from '../gates/run-baseline.ts';
import { parseSessionId } from '../ids.ts';
import { checkLive, type LiveRecord, readLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { readView } from '../record/view.ts';
import { findLink } from '../session/agent/agent-link.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { readTextIfThere, removeIfThere, writeAtomically } from '../system/disk.ts';
import { tryLock } from '../system/lock.ts';
import type { Millis, Oid, SessionId } from '../types.ts';
import type { AgentPorts } from './agent-ports.ts';

/* After each turn the gates run in a process of their own, so that the agent's hook does not wait for them. */

type GatePorts = AgentPorts & BaselinePorts;

/** Finds the session whose gates may be due after its turn; null where there is nothing to run. */
export async function findTurnSession(
  ports: GatePorts,
  { agentSession }: Pick<HookCall, 'agentSession'>,
  isTrusted: boolean,
): Promise<SessionId | null> {
  const link = findLink(ports.home, agentSession);
  if (link === null || (await chooseGates(ports, isTrusted)).length === 0) return null;
  return readRunningAgent(ports, link.session) && link.session;
}

/** Only approved gates run unasked, and without their fix commands: the agent is working on the same files. */
async function chooseGates(ports: GatePorts, isTrusted: boolean): Promise<readonly Gate[]> {
  const { worktree } = ports.repository;
  if (worktree === null) return [];
  const gates = listGates(await ports.readConfig(), worktree);
  return isTrusted || isApproved(ports.home, gates) ? gates.map((gate) => ({ ...gate, fix: null })) : [];
}

/** The live record of an unsupervised agent that is still running. A supervisor runs its own gates. */
function readRunningAgent({ home }: GatePorts, session: SessionId): LiveRecord | null {
  const live = readLive(home, session);
  return live?.kind === 'hooked' && checkLive(live) === 'alive' ? live : null;
}

/** Tells whether any gate has not run on exactly these files. */
export function areGatesDue(gates: readonly Gate[], { gates: known }: State, tree: Oid): boolean {
  return gates.some(({ name }) => lookUp(known, name)?.value.tree !== tree);
}

/**
 * Runs the gates after a turn, one run at a time per worktree. A turn that ends meanwhile leaves a request file, and the
 * process that holds the lock runs the gates again: only the result for the last turn matters.
 */
export async function runTurnGates(
  ports: GatePorts,
  session: SessionId,
  isTrusted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const gates = await chooseGates(ports, isTrusted);
  const { disk, home } = ports;
  const place = join(home, 'locks', `gates-${hash('sha256', ports.repository.worktree ?? '').slice(0, 16)}`);
  const requestFile = `${place}.wish`;
  const takeRequest = () => {
    const requested = readTextIfThere(requestFile);
    return removeIfThere(disk, requestFile) ? requested : null;
  };
  await writeAtomically(ports, requestFile, session);
  // Checked again after the lock is released: a request may have arrived after the last check inside it.
  while (!signal.aborted && readTextIfThere(requestFile) !== null) {
    const isLocked = await tryLock(ports, `${place}.lock`, async () => {
      for (let next = takeRequest(); next !== null && !signal.aborted; next = takeRequest())
        await runOnce(ports, parseSessionId(next), gates, signal);
    });
    if (!isLocked) return;
  }
}

/** How often to check whether the agent still runs. */
const checkInterval: Millis = 1_000;

async function runOnce(
  ports: GatePorts,
  session: SessionId,
  gates: readonly Gate[],
  signal: AbortSignal,
): Promise<void> {
  const live = readRunningAgent(ports, session);
  const { worktree } = ports.repository;
  if (live === null || worktree === null) return;
  const { epic, settings } = live;
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  if (status === undefined || hasEnded(status)) return;
  const tree = await readTreeWithoutMark(ports, settings.maxFileBytes);
  if (tree === null || !areGatesDue(gates, state, tree)) return;
  const stop = new AbortController();
  const check = setInterval(() => {
    if (readRunningAgent(ports, session) === null) stop.abort();
  }, checkInterval);
  try {
    await runBaseline(ports, {
      place: { kind: 'running', epic, session, settings },
      worktree,
      gates,
      atStart: false,
      // The end of a turn counts as the end of a task.
      trigger: isOn(settings.policy, 'task') ? 'task' : null,
      signal: AbortSignal.any([signal, stop.signal]),
      isRelevant: (bound) => bound !== null && readRunningAgent(ports, session) !== null,
    });
  } finally {
    clearInterval(check);
  }
}
