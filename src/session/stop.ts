import { OrchError } from '../errors.ts';
import {
  checkLive,
  type LiveRecord,
  readLive,
  removeLive,
  requestStop,
  type StopRequest,
} from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { hasBegun } from '../record/begin.ts';
import { cleanSecretText } from '../record/clean-facts.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { readView } from '../record/view.ts';
import { hasEnded } from '../state/transition.ts';
import { sleep } from '../system/clock.ts';
import { describeProcesses, type NamedProcess } from '../system/process/process-table.ts';
import type { Millis } from '../types.ts';
import { endSession } from './lifecycle.ts';
import { listSessionProcesses } from './session-processes.ts';

/** How long a supervisor may take for its last checkpoint, besides stopping its command. */
const lastWork: Millis = 20_000;

/**
 * Ends a session that another process works on: asks its supervisor and waits for it. A session without a supervisor, or
 * whose supervisor dies meanwhile, is ended here. Returns the processes of its command that still run.
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
    await requestStop(ports, session, { ...request, reason });
    const patience = 3 * settings.stopGrace + lastWork;
    const began = ports.clock.elapsed();
    while (readLive(ports.home, session) !== null && checkLive(live) === 'alive') {
      if (ports.clock.elapsed() - began > patience) throw doesNotStop(live);
      await sleep(25);
    }
  }
  const { state } = await readView(ports, epic);
  const status = lookUp(state.sessions, session)?.value.status;
  const target = { kind: 'running' as const, epic, session, settings };
  if (status === undefined && (await endWaiting(ports, target, request))) return [];
  if (!status || !hasEnded(status)) await endSession(ports, target, request.want, request.reason);
  return live.command ? describeProcesses(listSessionProcesses(of)) : [];
}

/** Ends a session whose agent waits for its first prompt; false if none waits. */
async function endWaiting(
  ports: SessionPorts,
  target: RunningSession,
  { want, reason }: StopRequest,
): Promise<boolean> {
  if (hasBegun(ports, target.session)) return false;
  const { beginWaiting } = await import('./agent/begin-hooked.ts');
  const kind = want === 'pause' ? 'session_paused' : 'session_completed';
  const ended = await beginWaiting(ports, target, [], { trigger: want, reason }, { kind, reason });
  if (ended !== null) removeLive(ports.disk, ports.home, target.session);
  return ended !== null;
}

function doesNotStop({ epic, session, holder }: LiveRecord): OrchError {
  return new OrchError(
    'SESSION_ACTIVE',
    `session ${session} of ${epic} was asked to stop and is still running`,
    {
      hint: `Check what it is doing (pid ${holder.pid}), then run the same command again`,
      data: { epicId: epic, sessionId: session, pid: holder.pid },
    },
  );
}
