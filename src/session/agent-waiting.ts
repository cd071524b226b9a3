import { oneOf, optional, orNull, readChecked, text, time, withFields } from '../checks.ts';
import type { HookCall, WaitingFor } from '../integration/agent-event.ts';
import { readTextIfThere, removeIfThere, writeAtomically } from '../system/files.ts';
import { cleanLine } from '../text.ts';
import type { Millis, SessionId } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import { waitingPath } from './agent-link.ts';

/**
 * What an agent waits for its user to say. It is about a process on this machine and is over in a moment, so it is kept
 * beside the agent's link and is no part of the epic: losing it loses nothing.
 */
export type AgentWaiting = {
  readonly for: WaitingFor | 'limit';
  /** What it asks, or wants to do: one line. */
  readonly detail: string | null;
  readonly at: Millis;
  /** When its provider lets it do more, where that is what it waits for and is known. */
  readonly until?: Millis | null;
};

/** The agent that asks may be one that the session's agent started. */
type Kept = AgentWaiting & { readonly helper: string | null };

const isKept = withFields<Kept>({
  for: oneOf<AgentWaiting['for']>('permission', 'plan', 'question', 'input', 'limit'),
  detail: orNull(text),
  at: time,
  until: optional(orNull(time)),
  helper: orNull(text),
});

/** A line of `status` has no room for more. */
const maxDetailBytes = 200;

/** What a session's agent waits for; null where it works, or nothing is known. Whether it still runs is not looked at. */
export function readWaiting(home: string, session: SessionId): AgentWaiting | null {
  const kept = readKept(home, session);
  return kept && { for: kept.for, detail: kept.detail, at: kept.at, until: kept.until ?? null };
}

function readKept(home: string, session: SessionId): Kept | null {
  return readChecked(readTextIfThere(waitingPath(home, session)), isKept);
}

/** Keeps what a call says of waiting: a question, the end of a turn, or that the agent goes on. */
export async function noteWaiting(
  ports: AgentPorts,
  session: SessionId,
  { event, helper }: HookCall,
): Promise<void> {
  const path = waitingPath(ports.home, session);
  const before = readKept(ports.home, session);
  if (event.kind !== 'waiting' && event.kind !== 'stop') {
    // What another agent of the session does meanwhile answers no question; a prompt of the user does.
    const isAnswered = event.kind === 'prompt' || before?.helper === helper;
    if (before && isAnswered) removeIfThere(ports.disk, path);
    return;
  }
  if (event.kind === 'waiting' && event.isReminder && before) return;
  const asked = event.kind === 'waiting' ? event : { for: 'input' as const, detail: null };
  const kept: Kept = {
    for: asked.for,
    detail: asked.detail && cleanLine(await ports.redact(asked.detail), maxDetailBytes),
    at: ports.clock.now(),
    helper,
  };
  await writeAtomically(ports.disk, path, Buffer.from(`${JSON.stringify(kept)}\n`), ports.random.id(8));
}
