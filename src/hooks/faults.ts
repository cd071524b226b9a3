import { join } from 'node:path';
import type { AgentEvent, HookCall } from '../agents/calls/hook-call.ts';
import { amount, text, withFields } from '../checks.ts';
import { isOrchError } from '../errors.ts';
import type { Redact } from '../redact/redactor.ts';
import type { Clock } from '../system/clock.ts';
import { removeIfThere, statIfThere, type WritePorts } from '../system/disk.ts';
import { readJson, writeJson } from '../system/json-file.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatInstant } from '../units.ts';

/* A hook that fails must not disturb its agent, so the last faults are kept here for `orch status` until they are over. */

/** What a hook could not do. */
export type HookFault = {
  /** ISO 8601, UTC: the last time. */
  readonly at: string;
  readonly agent: HookCall['agent'];
  /** The event the hook was called for. */
  readonly event: AgentEvent['kind'];
  readonly message: string;
  /** How often in a row. */
  readonly count: number;
};

type FaultPorts = WritePorts & {
  readonly clock: Clock;
  readonly redact: Redact;
  readonly home: string;
};

/** The calls a fault concerns: the next one that succeeds clears it. */
type Kind = Pick<HookFault, 'agent' | 'event'>;

const mostKept = 10;
const maxMessageBytes = 500;
/** Older faults are only in the log. */
const newsFor: Millis = 86_400_000;

function pathOf(home: string): string {
  return join(home, 'hook-faults.json');
}

/** Reads the faults of the last day that are not over, newest first. */
export function readHookFaults(home: string, now: Millis): HookFault[] {
  return readAll(home).filter(({ at }) => now - Date.parse(at) < newsFor);
}

const isFault = withFields<HookFault>({
  at: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  agent: text,
  event: text,
  message: text,
  count: amount,
});

/** A missing or damaged file counts as empty: the log has every fault. */
function readAll(home: string): HookFault[] {
  const isList = (value: unknown): value is unknown[] => Array.isArray(value);
  return readJson(pathOf(home), isList)?.filter(isFault) ?? [];
}

/** Adds a fault. Of two at the same moment one may be lost here, but the log has both. */
export async function addHookFault(ports: FaultPorts, kind: Kind, message: string): Promise<void> {
  const fault = {
    at: formatInstant(ports.clock.now()),
    ...kind,
    message: cleanLine(await ports.redact(message), maxMessageBytes),
  };
  await writeJson(ports, pathOf(ports.home), addFault(readAll(ports.home), fault));
}

/** Adds a fault to a list, where a repeated fault is only counted. */
export function addFault(faults: readonly HookFault[], fault: Omit<HookFault, 'count'>): HookFault[] {
  const isSame = (other: HookFault) =>
    other.agent === fault.agent && other.event === fault.event && other.message === fault.message;
  const count = (faults.find(isSame)?.count ?? 0) + 1;
  return [{ ...fault, count }, ...faults.filter((other) => !isSame(other))].slice(0, mostKept);
}

/** Clears the faults of a kind of call that has succeeded. Usually there are none, and this costs one stat. */
export async function clearHookFaults(ports: FaultPorts, { agent, event }: Kind): Promise<void> {
  if (statIfThere(pathOf(ports.home)) === null) return;
  const faults = readAll(ports.home);
  const left = faults.filter((fault) => fault.agent !== agent || fault.event !== event);
  if (left.length === 0) removeIfThere(ports.disk, pathOf(ports.home));
  else if (left.length < faults.length) await writeJson(ports, pathOf(ports.home), left);
}

/** Describes an error for the log: its message, with its stack if it is a bug. */
export function describeProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return isOrchError(error) ? error.message : `${error.message}\n${error.stack}`;
}
