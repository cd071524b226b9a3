import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { record } from '../record/record.ts';
import { sayTo } from '../session/messages.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Millis } from '../types.ts';
import { forgetHealth, type KnownHealth, writeHealth } from './health-file.ts';
import { freshMemory, type Judgement, judge, type WitnessPolicy } from './judge.ts';
import { emptyCache, lookAtAgent } from './look-at-agent.ts';
import { isWitnessOn } from './witness-switch.ts';

/*
 * The witness of a session: it looks at the agent now and then, judges what it sees, and acts on it. It never calls a
 * model, and starts no process.
 */

/** Why the witness ends an agent's session. */
export type WitnessVerdict = { readonly kind: 'witness'; readonly why: string };

export type Witness = {
  /** Looks, if it is time. Returns a verdict if the agent's session should end. */
  look(state: State, pid: number | null): Promise<WitnessVerdict | null>;
  /** Takes note of what the agent prints. */
  hear(chunk: Buffer): void;
  close(): void;
};

export type WitnessOptions = {
  readonly policy: WitnessPolicy;
  /**
   * What hears a nudge, and what follows a step up: a worker hears it itself, and its task is tried again, with the next
   * model; for an agent that was started by hand, its user hears and decides; without a terminal it is paused in the end.
   */
  readonly agent: 'worker' | 'background' | 'terminal';
  readonly onNotice: (message: string) => void;
  /** Hears of each action on an agent that was started by hand; `since` is when it got into trouble. */
  readonly onTrouble?: (trouble: Trouble) => Promise<void>;
};

export type Trouble = Pick<Judgement, 'health' | 'why'> & { readonly ends: boolean; readonly since: Millis };

/** Often enough to see a loop while it is cheap, and rare enough to cost nothing. */
const longestPause: Millis = 10_000;

/** A supervisor that is not disturbed looks about this often. */
const longestLook: Millis = 3_000;
const longestTail = 64 * 1024;

export function makeWitness(
  ports: SessionPorts & Parameters<typeof sayTo>[0],
  target: RunningSession,
  { policy, agent, onNotice, onTrouble }: WitnessOptions,
): Witness {
  const pause = Math.min(longestPause, Math.ceil(Math.min(policy.quiet, policy.patience) / 5));
  const cache = emptyCache();
  let memory = freshMemory;
  let known: KnownHealth | null = null;
  let lookedAt = ports.clock.elapsed();
  let printed: { readonly bytes: number; readonly tail: Buffer } | null = null;

  async function note(judgement: Judgement): Promise<void> {
    const { health, why, action } = judgement;
    if (known?.health === health && action === null) return;
    const now = ports.clock.now();
    const since = known?.health === health ? known.since : now;
    const acted =
      action === null
        ? { action: known?.action ?? null, actedAt: known?.actedAt ?? null }
        : { action: nameDone(action, agent), actedAt: now };
    known = { health, why: await ports.redact(why), since, ...acted };
    await writeHealth(ports, target.session, known);
  }

  async function act({ health, why, action }: Judgement): Promise<WitnessVerdict | null> {
    if (action === null) return null;
    const ends = endsSession(action, agent);
    const event: Fact = {
      kind: 'note',
      id: `w-${ports.random.id(6)}`,
      text: `Witness: ${describeStep(action, ends, agent)}, because it is ${health}: ${why}`,
    };
    if (action === 'nudge' && agent === 'worker')
      await sayTo(ports, target.epic, describeNudge(health, why), { facts: [event], from: 'orch' });
    else await record(ports, target, [event]);
    if (agent !== 'worker')
      await onTrouble?.({ health, why, ends, since: known?.since ?? ports.clock.now() });
    if (!ends) onNotice(`The agent is ${health}: ${why}.`);
    return ends ? { kind: 'witness', why: `it was ${health}: ${why}` } : null;
  }

  return {
    async look(state, pid) {
      const passed = ports.clock.elapsed() - lookedAt;
      if (passed < pause) return null;
      lookedAt += passed;
      // A machine that slept, or stopped this process, saw nothing meanwhile.
      const awake = Math.min(passed, Math.max(3 * pause, longestLook));
      const { home } = ports;
      const heard = printed && { bytes: printed.bytes, tail: printed.tail.toString('utf8') };
      const watched = { home, session: target.session, state, pid, isAlive: true, printed: heard };
      const allowed = isWitnessOn(home) ? policy : { ...policy, actions: [] };
      const judgement = judge(lookAtAgent(watched, cache, awake), allowed, memory);
      memory = judgement.memory;
      await note(judgement);
      return act(judgement);
    },
    hear(chunk) {
      const tail = Buffer.concat([printed?.tail ?? Buffer.alloc(0), chunk]).subarray(-longestTail);
      printed = { bytes: (printed?.bytes ?? 0) + chunk.length, tail };
    },
    close: () => forgetHealth(ports.disk, ports.home, target.session),
  };
}

type Agent = WitnessOptions['agent'];

/** A step up has a worker's task tried again. Other agents belong to a person, and none is ended under their hands. */
function endsSession(action: Judgement['action'], agent: Agent): boolean {
  if (action === 'nudge') return false;
  return agent === 'worker' || (agent === 'background' && action === 'end');
}

/** A last step that ends nothing, because a person is at the agent, is one more call for that person. */
function nameDone(action: NonNullable<Judgement['action']>, agent: Agent): KnownHealth['action'] {
  return action === 'end' && !endsSession(action, agent) ? 'escalate' : action;
}

function describeStep(action: NonNullable<Judgement['action']>, ends: boolean, agent: Agent): string {
  if (ends) return agent === 'worker' ? 'ended the attempt' : 'paused the session';
  return action === 'nudge' && agent === 'worker' ? 'told the agent' : 'told the user';
}

/** What an agent in trouble is told. */
export function describeNudge(health: Judgement['health'], why: string): string {
  return health === 'looping'
    ? `You repeat yourself: ${why}. Stop, think about what the result tells you, and try something else. If you cannot continue without help, ask: orch ask "…"`
    : `You seem to be stuck: ${why}. If you wait for something that may never come, stop waiting and continue another way. If you need help, ask: orch ask "…"`;
}
