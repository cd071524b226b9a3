import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../src/config/defaults.ts';
import { freshMemory, judge, type Sighting } from '../../src/witness/judge.ts';
import { makeRandom } from '../support/depth.ts';

/*
 * Thousands of hours of agents as they behave in the wild, simulated from seeds: what they do is decided here, what the
 * witness sees follows from it, and what it does is compared with what was really the matter. Other tools' policies judge
 * the same hours.
 */

const second = 1_000;
const minute = 60 * second;
const step = 20 * second;
/** A person finds what a policy misses the next morning. */
const found = 8 * 60 * minute;

/** What an agent does for a while. */
type Phase = {
  readonly name: string;
  readonly lasts: number;
  /** Is it all right? If not, it stays like this until it hears a nudge or is ended. */
  readonly isHealthy: boolean;
  /** Does it hear a nudge, and stop? */
  readonly hears?: boolean;
  readonly own?: number;
  readonly others?: number;
  /** Bytes it says, and of them it prints, per step. */
  readonly says?: number;
  readonly running?: string;
  readonly repeats?: number;
  readonly waiting?: Sighting['waiting'];
  readonly changes?: boolean;
  /** The machine sleeps: the wall clock runs, and nothing else does. */
  readonly isAsleep?: boolean;
};

type Random = ReturnType<typeof makeRandom>;
const between = (random: Random, least: number, most: number) => least + random() * (most - least);

/** Behaviours, with how often each occurs. */
const behaviours: readonly [weight: number, make: (random: Random) => Phase][] = [
  [
    40,
    (r) => ({
      name: 'working',
      lasts: between(r, 1, 30) * minute,
      isHealthy: true,
      says: 900,
      own: 0.05,
      changes: true,
    }),
  ],
  [
    12,
    (r) => ({
      name: 'long tests',
      lasts: between(r, 10, 45) * minute,
      isHealthy: true,
      running: 'Bash: npm test',
      others: between(r, 0.06, 1.9),
    }),
  ],
  [
    8,
    (r) => ({
      name: 'waiting for a build server',
      lasts: between(r, 5, 55) * minute,
      isHealthy: true,
      running: 'Bash: gh run watch',
      own: 0.002,
    }),
  ],
  [
    12,
    (r) => ({
      name: 'thinking',
      lasts: between(r, 1, 25) * minute,
      isHealthy: true,
      own: between(r, 0, 0.01),
    }),
  ],
  [
    6,
    (r) => ({
      name: 'polling',
      lasts: between(r, 10, 60) * minute,
      isHealthy: true,
      says: 40,
      running: 'Bash: sleep 60',
      own: 0.01,
    }),
  ],
  [
    4,
    (r) => ({
      name: 'waiting for a permission',
      lasts: between(r, 1, 600) * minute,
      isHealthy: true,
      waiting: { for: 'permission', detail: null, at: 0 },
    }),
  ],
  [
    4,
    (r) => ({
      name: 'limited',
      lasts: between(r, 10, 300) * minute,
      isHealthy: true,
      waiting: { for: 'limit', detail: null, at: 0 },
    }),
  ],
  [5, (r) => ({ name: 'asleep', lasts: between(r, 30, 700) * minute, isHealthy: true, isAsleep: true })],
  [
    3,
    (r) => ({
      name: 'looping',
      lasts: found,
      isHealthy: false,
      hears: r() < 0.7,
      says: 1_200,
      own: 0.05,
      repeats: 1,
    }),
  ],
  [
    2,
    () => ({
      name: 'printing the same for ever',
      lasts: found,
      isHealthy: false,
      says: 4_000,
      own: 0.4,
      repeats: 0.5,
    }),
  ],
  [2, () => ({ name: 'stuck: its connection is dead', lasts: found, isHealthy: false, own: 0.003 })],
  [
    2,
    () => ({
      name: 'stuck: a command waits for input',
      lasts: found,
      isHealthy: false,
      running: 'Bash: sudo make',
      own: 0.003,
    }),
  ],
];

function draw(random: Random): Phase {
  const total = behaviours.reduce((sum, [weight]) => sum + weight, 0);
  let at = random() * total;
  for (const [weight, make] of behaviours) {
    at -= weight;
    if (at < 0) return make(random);
  }
  throw new Error('no behaviour');
}

/** What a policy does about one agent at each step: ends it, or not. */
type Policy = { readonly name: string; watch(random: Random): (seen: Seen) => 'nudge' | 'end' | null };
type Seen = { readonly sighting: Sighting; readonly wall: number; readonly printed: boolean };

const witness: Policy = {
  name: 'witness',
  watch: () => {
    let memory = freshMemory;
    return ({ sighting }) => {
      const { action, memory: next } = judge(sighting, defaultConfig.witness, memory);
      memory = next;
      // For a worker, a step up ends the attempt.
      return action === 'escalate' ? 'end' : action;
    };
  },
};

/** Ends whatever has run for so long. */
const fixedTimeout = (limit: number): Policy => ({
  name: `a timeout of ${limit / minute} minutes`,
  watch: () => {
    let began: number | null = null;
    return ({ wall }) => {
      began ??= wall;
      return wall - began >= limit ? 'end' : null;
    };
  },
});

/** Ends whatever has said nothing for so long. */
const outputSilence = (limit: number): Policy => ({
  name: `${limit / minute} minutes without output`,
  watch: () => {
    let last: number | null = null;
    return ({ wall, printed }) => {
      if (printed || last === null) last = wall;
      return wall - last >= limit ? 'end' : null;
    };
  },
});

type Outcome = {
  hours: number;
  healthyEnded: number;
  troubles: number;
  missed: number;
  acted: number;
  recovered: number;
  ended: number;
  slowest: number;
};

/** Lets agents live under a policy; each that is ended is replaced by another. */
function simulate(policy: Policy, seed: number, hours: number): Outcome {
  const random = makeRandom(seed);
  const out: Outcome = {
    hours: 0,
    healthyEnded: 0,
    troubles: 0,
    missed: 0,
    acted: 0,
    recovered: 0,
    ended: 0,
    slowest: 0,
  };
  let [wall, awakeTotal] = [0, 0];
  const end = hours * 60 * minute;
  while (wall < end) {
    const decide = policy.watch(random);
    const cpu = { own: 0, others: 0 };
    let [said, changed, repeats, isOver] = [0, 0, 0, false];
    while (!isOver && wall < end) {
      const phase = draw(random);
      const until = Math.min(end, wall + phase.lasts);
      const awakeAtStart = awakeTotal;
      let [isActedOn, hasRecovered] = [false, false];
      if (!phase.isHealthy) out.troubles += 1;
      repeats = 0;
      // Between one thing and the next, it says what it does.
      said += 300;
      while (wall < until && !hasRecovered) {
        // Of the time asleep, one look sees a moment.
        const passed = phase.isAsleep ? Math.min(until - wall, 8 * 60 * minute) : step;
        wall += passed;
        const awake = phase.isAsleep ? 0 : step;
        awakeTotal += awake;
        cpu.own += (phase.own ?? 0) * awake;
        cpu.others += (phase.others ?? 0) * awake;
        said += phase.says ?? 0;
        repeats += phase.repeats ?? 0;
        if (phase.changes) changed = wall;
        const times = Math.floor(repeats);
        const sighting: Sighting = {
          ...{ awake, isAlive: true, isFrozen: false, cpu: { ...cpu }, said, changed },
          running: phase.running ?? null,
          repetition: times >= 2 ? { words: 'the same', times } : null,
          waiting: phase.waiting ?? null,
          question: null,
        };
        const action = decide({ sighting, wall, printed: (phase.says ?? 0) > 0 });
        if (action === null) continue;
        if (!phase.isHealthy && !isActedOn) {
          isActedOn = true;
          out.acted += 1;
          out.slowest = Math.max(out.slowest, awakeTotal - awakeAtStart);
        }
        if (action === 'nudge') {
          if (phase.hears) {
            hasRecovered = true;
            out.recovered += 1;
          }
          continue;
        }
        if (phase.isHealthy) out.healthyEnded += 1;
        else out.ended += 1;
        isOver = true;
        break;
      }
      if (phase.isHealthy || isActedOn) continue;
      // It runs into the end of the simulation, or until a person comes.
      if (wall >= end) out.troubles -= 1;
      else out.missed += 1;
      isOver = true;
    }
  }
  out.hours = wall / (60 * minute);
  return out;
}

const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
const hoursEach = 500;
const sum = (policy: Policy) =>
  seeds
    .map((seed) => simulate(policy, seed, hoursEach))
    .reduce((a, b) => ({
      hours: a.hours + b.hours,
      healthyEnded: a.healthyEnded + b.healthyEnded,
      troubles: a.troubles + b.troubles,
      missed: a.missed + b.missed,
      acted: a.acted + b.acted,
      recovered: a.recovered + b.recovered,
      ended: a.ended + b.ended,
      slowest: Math.max(a.slowest, b.slowest),
    }));

describe('thousands of hours of agents', () => {
  it('see no healthy one ended, and every one in trouble helped or ended within its bound', () => {
    const seen = sum(witness);
    if (process.env.ORCH_TEST_REPORT) console.log(witness.name, seen);
    expect(seen.hours).toBeGreaterThanOrEqual(4_000);
    expect(seen.troubles).toBeGreaterThan(300);
    expect(seen.healthyEnded).toBe(0);
    expect(seen.missed).toBe(0);
    expect(seen.acted).toBe(seen.troubles);
    expect(seen.recovered).toBeGreaterThan(0);
    // The longest it may take to act: a command that waits for input is told from one that waits for a server by time only.
    expect(seen.slowest).toBeLessThanOrEqual(2 * defaultConfig.witness.stuck + step);
  });

  it.each([
    fixedTimeout(30 * minute),
    fixedTimeout(120 * minute),
    outputSilence(10 * minute),
    outputSilence(30 * minute),
  ])('under $name see healthy ones ended', (policy) => {
    const seen = sum(policy);
    if (process.env.ORCH_TEST_REPORT) console.log(policy.name, seen);
    expect(seen.healthyEnded).toBeGreaterThan(50);
  });
});
