import fc from 'fast-check';
import { expect, it } from 'vitest';
import { epicRef } from '../../src/checkpoint/document/names-in-git.ts';
import { decide } from '../../src/checkpoint/policy.ts';
import { totalUsage } from '../../src/cost/ledger.ts';
import { hasCode } from '../../src/errors.ts';
import { removeLive } from '../../src/journal/live.ts';
import type { RunningSession } from '../../src/record/ports.ts';
import { record } from '../../src/record/record.ts';
import { readView } from '../../src/record/view.ts';
import { saveByHand } from '../../src/session/calls.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import { recoverInterrupted } from '../../src/session/recover.ts';
import { budgetOf } from '../../src/state/current.ts';
import type { Fact } from '../../src/state/facts.ts';
import type { State } from '../../src/state/lists.ts';
import { hasEnded } from '../../src/state/transition.ts';
import { type Clone, fetchAndMerge, makeClone } from '../support/clones.ts';
import { runs } from '../support/depth.ts';
import { goOn, readHistory, sumOf, withoutTree } from '../support/sessions.ts';
import { cost, epic, note } from '../support/store.ts';

const clone = fc.nat({ max: 2 });
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), clone }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('cost' as const), clone, micros: fc.nat({ max: 500_000 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('note' as const), clone }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('budget' as const),
      clone,
      limit: fc.option(fc.nat({ max: 2_000_000 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'complete' as const, 'crash' as const, 'recover' as const),
      clone,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fetch' as const), clone, from: clone }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** How far a state is from its budget: below the warning, past it, or used up. */
function levelOf(state: State): 'ok' | 'warning' | 'exceeded' {
  const limit = budgetOf(state);
  const spent = totalUsage(state.ledger).micros;
  if (limit === null || spent < limit * 0.8) return 'ok';
  return spent < limit ? 'warning' : 'exceeded';
}

/** A clone, and who works there. */
class Worker {
  target: RunningSession | null = null;
  number = 0;
  readonly recorded: Fact[] = [];
  readonly clone: Clone;

  constructor(clone: Clone) {
    this.clone = clone;
  }

  async start(): Promise<void> {
    const { orch } = this.clone;
    if (this.target) return;
    try {
      const { target, state } = await goOn(orch, { takeOver: true });
      const number = state.sessions[target.session]?.value.number ?? 0;
      expect(number, 'numbers grow within a clone').toBeGreaterThan(this.number);
      this.number = number;
      this.target = target;
    } catch (error) {
      if (!hasCode(error, 'BUDGET_EXCEEDED')) throw error;
      expect(levelOf((await readView(orch, epic)).state), 'refused only without money').toBe('exceeded');
    }
  }

  async record(fact: Fact): Promise<void> {
    const { orch } = this.clone;
    if (!this.target) return;
    const before = levelOf((await readView(orch, epic)).state);
    const { verdict, state, events } = await record(orch, this.target, [fact]);
    this.recorded.push(fact);
    expect(events.map((event) => event.fact)).toContainEqual(fact);
    const after = levelOf(state);
    expect(verdict.stop !== null, 'stops if and only if the money is gone').toBe(after === 'exceeded');
    expect(verdict.warn.length, 'warns once, on the way up').toBe(
      before === 'ok' && after === 'warning' ? 1 : 0,
    );
    const again = decide(withoutTree.policy, await readView(orch, epic), orch.clock.now());
    expect(again.checkpoint, 'the same checkpoint is not asked for again').toBeNull();
    if (!verdict.stop) return;
    expect(hasEnded(state.sessions[this.target.session]?.value.status ?? 'running')).toBe(true);
    removeLive(orch.disk, orch.home, this.target.session);
    this.target = null;
  }

  async end(how: 'pause' | 'complete'): Promise<void> {
    if (this.target) await endSession(this.clone.orch, this.target, how, null);
    this.target = null;
  }

  crash(): void {
    const { disk, home } = this.clone.orch;
    if (this.target) removeLive(disk, home, this.target.session);
    this.target = null;
  }

  async recover(): Promise<void> {
    const { orch } = this.clone;
    if (this.target) return;
    await recoverInterrupted(orch, epic, withoutTree);
    expect(await recoverInterrupted(orch, epic, withoutTree), 'twice is once').toEqual([]);
  }
}

async function take(next: Step, workers: readonly Worker[], index: number): Promise<void> {
  const worker = workers[next.clone];
  if (!worker) return;
  switch (next.do) {
    case 'start':
      return worker.start();
    case 'cost':
      return worker.record(cost(next.micros));
    case 'note':
      return worker.record(note(`n${index}`));
    case 'budget':
      return worker.record({ kind: 'budget_set', limit: next.limit });
    case 'pause':
    case 'complete':
      return worker.end(next.do);
    case 'crash':
      return worker.crash();
    case 'recover':
      return worker.recover();
    case 'fetch': {
      const from = workers[next.from];
      if (from) await fetchAndMerge(from.clone, worker.clone);
    }
  }
}

it('I3 I4 I6 I7: any interleaving of sessions, crashes and merges keeps the laws of the pump', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const skews = [0, -7_200_000, 3_600_000];
      const workers = skews.map((skew, index) => new Worker(makeClone(`w-${index}`, skew)));
      for (const [index, next] of steps.entries()) await take(next, workers, index);
      for (const { clone, target } of workers) {
        if (target) await endSession(clone.orch, target, 'pause', null);
        else await recoverInterrupted(clone.orch, epic, withoutTree);
        await saveByHand(clone.orch, epic, { trigger: 'manual', reason: null, facts: [], agent: null });
      }
      for (let round = 0; round < 3; round++)
        for (const from of workers) for (const to of workers) await fetchAndMerge(from.clone, to.clone);
      expect(new Set(workers.map(({ clone }) => clone.repository.refs.get(epicRef(epic)))).size).toBe(1);
      const recorded = workers.flatMap((worker) => worker.recorded);
      const [{ clone } = { clone: makeClone('none', 0) }] = workers;
      const { micros, notes, sessions } = await readHistory(clone.orch);
      expect(micros, 'spent is what was acknowledged').toBe(sumOf(recorded));
      expect([...notes].sort()).toEqual(
        recorded.flatMap((fact) => (fact.kind === 'note' ? [fact.id] : [])).sort(),
      );
      for (const { status } of Object.values(sessions)) expect(hasEnded(status)).toBe(true);
    }),
    { numRuns: runs(25) },
  );
});
