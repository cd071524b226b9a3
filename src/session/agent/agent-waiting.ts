import type { HookCall, WaitingFor } from '../../agents/calls/hook-call.ts';
import { findLimit } from '../../agents/provider-limit.ts';
import { oneOf, optional, orNull, text, time, withFields } from '../../checks.ts';
import type { SessionPorts } from '../../record/ports.ts';
import type { Redact } from '../../redact/redactor.ts';
import { removeIfThere } from '../../system/disk.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import { cleanLine } from '../../text.ts';
import type { Millis, SessionId } from '../../types.ts';
import { waitingPath } from './agent-link.ts';

/**
 * What an agent waits for. It concerns a process on this machine and changes every moment, so it is kept with the
 * agent's link and not in the epic: losing it loses nothing.
 */
export type AgentWaiting = {
  readonly for: WaitingFor | 'limit';
  /** What the agent asks or wants to do, in one line. */
  readonly detail: string | null;
  readonly at: Millis;
  /** When the provider's limit resets, if it waits for that and the time is known. */
  readonly until?: Millis | null;
};

/** `helper` is the subagent that asks; null for the session's main agent. */
type Kept = AgentWaiting & { readonly helper: string | null };

const isKept = withFields<Kept>({
  for: oneOf<AgentWaiting['for']>('permission', 'plan', 'question', 'input', 'limit'),
  detail: orNull(text),
  at: time,
  until: optional(orNull(time)),
  helper: orNull(text),
});

/** A line of `orch status` has no room for more. */
const maxDetailBytes = 200;

/** Reads what a session's agent waits for; null if it works, or that is unknown. Does not check whether it still runs. */
export function readWaiting(home: string, session: SessionId): AgentWaiting | null {
  const kept = readKept(home, session);
  return kept && { for: kept.for, detail: kept.detail, at: kept.at, until: kept.until ?? null };
}

function readKept(home: string, session: SessionId): Kept | null {
  return readJson(waitingPath(home, session), isKept);
}

/** Updates what an agent waits for after a hook call: a question, the end of a turn, or new work. */
export async function noteWaiting(
  ports: WaitingPorts & { readonly redact: Redact },
  session: SessionId,
  { event, helper, transcript }: HookCall,
): Promise<void> {
  const path = waitingPath(ports.home, session);
  const before = readKept(ports.home, session);
  if (event.kind === 'failure') {
    const limit = transcript === null ? null : findLimit(transcript);
    return limit ? noteLimit(ports, session, limit.resetsAt) : write(ports, session, waitsForInput(helper));
  }
  if (event.kind !== 'waiting' && event.kind !== 'stop') {
    // Only the agent that asked can be continuing after an answer; a prompt answers every question.
    const isAnswered = event.kind === 'prompt' || before?.helper === helper;
    if (before && isAnswered) removeIfThere(ports.disk, path);
    return;
  }
  if (event.kind === 'waiting' && event.isReminder && before) return;
  const asked = event.kind === 'waiting' ? event : waitsForInput(helper);
  const detail = asked.detail && cleanLine(await ports.redact(asked.detail), maxDetailBytes);
  await write(ports, session, { for: asked.for, detail, helper });
}

function waitsForInput(helper: string | null): Omit<Kept, 'at'> {
  return { for: 'input', detail: null, helper };
}

/** Notes that an agent is at its provider's limit, and when that resets if known. */
export async function noteLimit(
  ports: WaitingPorts,
  session: SessionId,
  until: Millis | null,
): Promise<void> {
  await write(ports, session, { for: 'limit', detail: null, helper: null, until });
}

/** Notes that the agent works again. */
export function clearWaiting({ disk, home }: Pick<WaitingPorts, 'disk' | 'home'>, session: SessionId): void {
  removeIfThere(disk, waitingPath(home, session));
}

type WaitingPorts = Pick<SessionPorts, 'disk' | 'home' | 'random' | 'clock'>;

function write(ports: WaitingPorts, session: SessionId, waiting: Omit<Kept, 'at'>): Promise<void> {
  return writeJson(ports, waitingPath(ports.home, session), { ...waiting, at: ports.clock.now() });
}
