import type { Config, WitnessAction } from '../config/defaults.ts';
import type { AgentWaiting } from '../session/agent/agent-waiting.ts';
import type { Millis } from '../types.ts';
import { formatAge } from '../units.ts';
import type { Repetition } from './repetition.ts';

/*
 * The witness judges an agent by what can be seen of it, and never by a clock alone: time counts only while this machine is
 * awake and nothing of the agent gives a sign of life.
 */

/** How an agent is. */
export const healths = ['working', 'quiet', 'waiting', 'limited', 'looping', 'stuck', 'dead'] as const;
export type Health = (typeof healths)[number];

/** What one look saw of an agent. Counters only grow; null where this machine or this agent does not show them. */
export type Sighting = {
  /** How long this machine has been awake since the last look. */
  readonly awake: Millis;
  /** Is there a process of it? */
  readonly isAlive: boolean;
  /** Has a person or the system stopped a process of it, so that it cannot continue? */
  readonly isFrozen: boolean;
  /** CPU time of the agent's own process, and of all it has started. */
  readonly cpu: { readonly own: Millis; readonly others: Millis } | null;
  /** Bytes of its conversation, or of what it printed. */
  readonly said: number;
  /** The newest change of its files, in milliseconds since 1970. */
  readonly changed: Millis | null;
  /** What it runs now and waits for, such as `Bash: npm test`. */
  readonly running: string | null;
  /** What it does again and again, if its last steps were alike. */
  readonly repetition: Repetition | null;
  readonly waiting: AgentWaiting | null;
  /** What it asked with `orch ask`, and waits to be answered. */
  readonly question: string | null;
};

export type WitnessPolicy = Config['witness'];

/** What the witness remembers between looks. */
export type WitnessMemory = {
  readonly last: Sighting | null;
  /** Awake time without a sign of life. */
  readonly silent: Millis;
  /** The trouble an agent is in, and what was done about it. */
  readonly trouble: {
    readonly health: Health;
    readonly steps: number;
    /** Awake time since the last step. */
    readonly waited: Millis;
    /** How often it had repeated itself at the last step. */
    readonly times: number;
  } | null;
};

export const freshMemory: WitnessMemory = { last: null, silent: 0, trouble: null };

export type Judgement = {
  readonly health: Health;
  /** The evidence, in words. */
  readonly why: string;
  readonly action: WitnessAction | null;
  readonly memory: WitnessMemory;
};

/** Judges what was seen, and says what to do about it. */
export function judge(seen: Sighting, policy: WitnessPolicy, memory: WitnessMemory): Judgement {
  const sign = findSign(memory.last, seen);
  const silent = sign === null ? memory.silent + seen.awake : 0;
  const { health, why } = diagnose(seen, policy, silent, sign);
  const { action, trouble } = decideAction({ health, seen, policy, trouble: memory.trouble });
  return { health, why, action, memory: { last: seen, silent, trouble } };
}

/** An agent that only waits uses some CPU time: this share of a core is more, for its own process and for what it runs. */
const busyShare = { own: 0.2, others: 0.02 };

/** The first sign of life since the last look; null if there is none. */
function findSign(last: Sighting | null, seen: Sighting): string | null {
  if (last === null) return 'it was just seen for the first time';
  if (seen.said !== last.said) return 'it says something';
  if (seen.changed !== null && seen.changed > (last.changed ?? 0)) return 'files change';
  if (seen.cpu === null || last.cpu === null || seen.awake <= 0) return null;
  const used = { own: seen.cpu.own - last.cpu.own, others: seen.cpu.others - last.cpu.others };
  // What it ran may have ended since, and taken its time with it.
  if (used.others < 0) return 'what it ran has ended';
  if (used.others >= busyShare.others * seen.awake) return 'what it runs is busy';
  return used.own >= busyShare.own * seen.awake ? 'it is busy' : null;
}

function diagnose(
  seen: Sighting,
  policy: WitnessPolicy,
  silent: Millis,
  sign: string | null,
): Pick<Judgement, 'health' | 'why'> {
  if (!seen.isAlive) return { health: 'dead', why: 'its process is gone' };
  if (seen.waiting?.for === 'limit') return { health: 'limited', why: "it is at its provider's limit" };
  if (seen.question !== null) return { health: 'waiting', why: `it asks: ${seen.question}` };
  if (seen.waiting !== null) return { health: 'waiting', why: describeWaiting(seen.waiting) };
  const { repetition } = seen;
  if (repetition !== null && repetition.times >= policy.repeats)
    return { health: 'looping', why: repetition.words };
  if (sign !== null) return { health: 'working', why: sign };
  const since = formatAge(silent);
  const about = seen.running === null ? '' : `, while it waits for ${seen.running}`;
  const nothing = `nothing was seen of it for ${since}${about}`;
  if (silent >= patienceWith(seen, policy))
    return {
      health: 'stuck',
      why: seen.isFrozen
        ? `a process of it was stopped (SIGSTOP), and nothing was seen of it for ${since}`
        : nothing,
    };
  return silent >= policy.quiet
    ? { health: 'quiet', why: nothing }
    : { health: 'working', why: 'it was just active' };
}

/** A command may wait for something elsewhere, such as a build server, and gives no sign of life meanwhile. */
function patienceWith({ running, isFrozen }: Sighting, { stuck }: WitnessPolicy): Millis {
  return running === null || isFrozen ? stuck : 2 * stuck;
}

function describeWaiting({ for: reason, detail }: AgentWaiting): string {
  const what = {
    permission: 'a permission',
    plan: 'its plan to be approved',
    question: 'an answer',
    input: 'a prompt',
  };
  return `it waits for ${reason === 'limit' ? "its provider's limit" : what[reason]}${detail === null ? '' : `: ${detail}`}`;
}

type Trouble = WitnessMemory['trouble'];

/** The next step of the ladder: the first at once, each other one after the one before had time to work. */
function decideAction({
  health,
  seen,
  policy,
  trouble,
}: {
  readonly health: Health;
  readonly seen: Sighting;
  readonly policy: WitnessPolicy;
  readonly trouble: Trouble;
}): { readonly action: WitnessAction | null; readonly trouble: Trouble } {
  if (health !== 'looping' && health !== 'stuck') return { action: null, trouble: null };
  const times = seen.repetition?.times ?? 0;
  const known = trouble?.health === health ? trouble : null;
  const steps = known?.steps ?? 0;
  const waited = (known?.waited ?? 0) + seen.awake;
  const action = policy.actions[steps] ?? null;
  // Who hears a nudge between two calls of a tool stops repeating them: to be sure, it must have repeated itself further.
  const isDue =
    known === null ||
    (waited >= policy.patience && (health === 'stuck' || times >= known.times + policy.repeats));
  if (!isDue || action === null) return { action: null, trouble: known && { ...known, waited } };
  return { action, trouble: { health, steps: steps + 1, waited: 0, times } };
}
