import { join } from 'node:path';
import { amount, readChecked, text, withFields } from '../checks.ts';
import type { AgentEvent, HookCall } from '../integration/agent-event.ts';
import type { Redact } from '../redact.ts';
import type { Clock, Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, removeIfThere, statIfThere, writeAtomically } from '../system/files.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatInstant } from '../units.ts';

/* Hooks never disturb an agent, so nobody sees them fail: the last faults are kept here until they work again. */

/** What a hook could not do. */
export type HookFault = {
  /** ISO 8601, UTC: the last time. */
  readonly at: string;
  readonly agent: HookCall['agent'];
  /** What the agent told of when it happened. */
  readonly event: AgentEvent['kind'];
  readonly message: string;
  /** How often in a row. */
  readonly count: number;
};

type FaultPorts = {
  readonly disk: Disk;
  readonly random: Random;
  readonly clock: Clock;
  readonly redact: Redact;
  readonly home: string;
};

/** Which calls a fault is of: when one of these works again, it is over. */
type Kind = Pick<HookFault, 'agent' | 'event'>;

const mostKept = 10;
const maxMessageBytes = 500;
/** Whatever happened before that is in the log, and no longer news. */
const newsFor: Millis = 86_400_000;

function pathOf(home: string): string {
  return join(home, 'hook-faults.json');
}

/** The faults of the last day that no later call of their kind has made good, newest first. */
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

/** None where the file is missing or damaged: the log has them all. */
function readAll(home: string): HookFault[] {
  const isList = (value: unknown): value is unknown[] => Array.isArray(value);
  return readChecked(readTextIfThere(pathOf(home)), isList)?.filter(isFault) ?? [];
}

/** Adds a fault. Of two at the same moment one may be lost, which the log has all the same. */
export async function keepHookFault(ports: FaultPorts, kind: Kind, message: string): Promise<void> {
  const fault = {
    at: formatInstant(ports.clock.now()),
    ...kind,
    message: cleanLine(await ports.redact(message), maxMessageBytes),
  };
  await writeAll(ports, addFault(readAll(ports.home), fault));
}

/** The same fault again is one, counted. */
export function addFault(faults: readonly HookFault[], fault: Omit<HookFault, 'count'>): HookFault[] {
  const isSame = (other: HookFault) =>
    other.agent === fault.agent && other.event === fault.event && other.message === fault.message;
  const count = (faults.find(isSame)?.count ?? 0) + 1;
  return [{ ...fault, count }, ...faults.filter((other) => !isSame(other))].slice(0, mostKept);
}

/** A call of this kind worked: what failed before is over. Where nothing failed, this is one look at the disk. */
export async function forgetHookFaults(ports: FaultPorts, { agent, event }: Kind): Promise<void> {
  if (statIfThere(pathOf(ports.home)) === null) return;
  const faults = readAll(ports.home);
  const left = faults.filter((fault) => fault.agent !== agent || fault.event !== event);
  if (left.length === 0) removeIfThere(ports.disk, pathOf(ports.home));
  else if (left.length < faults.length) await writeAll(ports, left);
}

async function writeAll({ disk, home, random }: FaultPorts, faults: readonly HookFault[]): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(faults, null, 2)}\n`);
  await writeAtomically(disk, pathOf(home), bytes, random.id(8));
}
