import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { hasEnded } from '../state/transition.ts';
import { sleep } from '../system/clock.ts';
import { type NamedProcess, nameProcesses } from '../system/process-table.ts';
import type { Millis } from '../types.ts';
import { cleanSecretText } from './clean.ts';
import { readView } from './context.ts';
import { listProcessesOf } from './leftovers.ts';
import { endSession } from './lifecycle.ts';
import { checkLive, type LiveRecord, readLive, removeLive, requestStop, type StopRequest } from './live.ts';
import type { SessionPorts, Target } from './record.ts';

/** How long a supervisor has for its last checkpoint, besides stopping its command. */
const lastWork: Millis = 20_000;

/**
 * Ends a session that another process works on: asks its supervisor, and waits until it is gone. One without a
 * supervisor, or whose supervisor died over it, is ended here. Returns what still runs of its command.
 */
export async function stopSession(
  ports: SessionPorts,
  live: LiveRecord,
  request: StopRequest,
): Promise<NamedProcess[]> {
  const { session, epic, settings } = live;
  const of = readLive(ports.home, session) ?? live;
  if (live.kind === 'supervised' && checkLive(live) === 'alive') {
    const reason = request.reason && (await cleanSecretText(request.reason, ports.redact));
    await requestStop(ports.disk, ports.home, ports.random, session, { ...request, reason });
    const patience = 3 * settings.stopGrace + lastWork;
    const began = ports.clock.elapsed();
    while (readLive(ports.home, session) !== null && checkLive(live) === 'alive') {
      if (ports.clock.elapsed() - began > patience) throw doesNotStop(live);
      await sleep(25);
    }
  }
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  const target = { epic, session, settings };
  if (status === undefined && (await endWaiting(ports, target, request))) return [];
  if (!status || !hasEnded(status)) await endSession(ports, target, request.want, request.reason);
  return live.command ? nameProcesses(listProcessesOf(of)) : [];
}

/** Ends the session of an agent that was not asked anything yet; false where none waits in it. */
async function endWaiting(
  ports: SessionPorts,
  target: Target,
  { want, reason }: StopRequest,
): Promise<boolean> {
  const { beginWaiting, hasBegun } = await import('./agent-begin.ts');
  if (hasBegun(ports, target.session)) return false;
  const kind = want === 'pause' ? 'session_paused' : 'session_completed';
  const ended = await beginWaiting(ports, target, [], { trigger: want, reason }, { kind, reason });
  if (ended !== null) removeLive(ports.disk, ports.home, target.session);
  return ended !== null;
}

function doesNotStop({ epic, session, holder }: LiveRecord): OrchError {
  return new OrchError('SESSION_ACTIVE', `session ${session} of ${epic} was told to stop, and still runs`, {
    hint: `Look what it is at (pid ${holder.pid}), then run the same command again`,
    data: { epicId: epic, sessionId: session, pid: holder.pid },
  });
}
