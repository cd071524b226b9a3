import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GitEngine } from '../../src/git/engine.ts';
import type { Orch } from '../../src/orch.ts';
import { findDestination } from '../../src/record/which/which-session.ts';
import { recordTo } from '../../src/session/calls.ts';
import type { Fact } from '../../src/state/facts.ts';
import { hasEnded } from '../../src/state/transition.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeClone } from '../support/clones.ts';
import { runs } from '../support/depth.ts';
import { makeFolder } from '../support/repository.ts';
import { notesIn, readHistory, sumOf, withoutTree } from '../support/sessions.ts';
import { cost, epic, note } from '../support/store.ts';

/** Two processes in one clone: each takes its turns at other moments, and knows the clone's folder by another name. */
function makeProcesses(pauses: readonly number[], { isLocked }: { readonly isLocked: boolean }): Orch[] {
  const { orch } = makeClone('w-one', 0);
  let next = 0;
  const pause = async () => {
    for (let left = pauses[next++ % pauses.length] ?? 0; left > 0; left--)
      await new Promise((resolve) => setImmediate(resolve));
  };
  const git: GitEngine = {
    ...orch.git,
    readRef: (ref) => pause().then(() => orch.git.readRef(ref)),
    readObject: (oid) => pause().then(() => orch.git.readObject(oid)),
    writeObjects: (written) => pause().then(() => orch.git.writeObjects(written)),
    moveRefs: (updates) => pause().then(() => orch.git.moveRefs(updates)),
  };
  let locks = 0;
  // Locks are for speed alone: where each opens a file of its own, nobody waits for anybody.
  const disk: Disk = {
    ...realDisk,
    open: (path, flags, mode) =>
      realDisk.open(!isLocked && path.endsWith('.lock') ? `${path}.${++locks}` : path, flags, mode),
    sync: (fd) => pause().then(() => realDisk.sync(fd)),
  };
  return ['one', 'other'].map((name) => {
    const home = join(makeFolder(), name);
    symlinkSync(orch.home, home);
    return { ...orch, git, disk, home };
  });
}

const call = fc.record({
  process: fc.nat({ max: 1 }),
  micros: fc.option(fc.nat({ max: 9 }), { nil: null }),
  isAsked: fc.boolean(),
});
/** What each does at the same moment, one moment after the other. */
const moments = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 });

it.each([true, false])(
  'I4: any interleaving of calls from two processes keeps each event once (with locks: %s)',
  async (isLocked) => {
    await fc.assert(
      fc.asyncProperty(moments, fc.array(fc.nat({ max: 4 }), { minLength: 7 }), async (steps, pauses) => {
        const processes = makeProcesses(pauses, { isLocked });
        const recorded: Fact[] = [];
        for (const [moment, calls] of steps.entries()) {
          const made = calls.map(async ({ process, micros, isAsked }, index) => {
            const orch = processes[process];
            if (orch === undefined) return;
            const fact = micros === null ? note(`n${moment}-${index}`) : cost(micros);
            const ask = isAsked ? { trigger: 'manual' as const, reason: null } : null;
            const { events } = await recordTo(
              orch,
              findDestination(orch, epic, withoutTree, null),
              [fact],
              ask,
            );
            expect(events.map((event) => event.fact)).toContainEqual(fact);
            expect(events.filter((event) => event.fact.kind === fact.kind)).toHaveLength(1);
            recorded.push(fact);
          });
          await Promise.all(made);
        }
        const [orch] = processes;
        if (orch === undefined) return;
        const { events, micros, sessions } = await readHistory(orch);
        expect(micros).toBe(sumOf(recorded));
        expect(notesIn(events).sort()).toEqual(
          recorded.flatMap((fact) => (fact.kind === 'note' ? [fact.id] : [])).sort(),
        );
        expect(Object.values(sessions).every(({ status }) => hasEnded(status))).toBe(true);
        // Those that begin at one moment, with no lock, cannot know of each other.
        expect(Object.keys(sessions).length).toBeLessThanOrEqual(isLocked ? 1 : 3);
      }),
      { numRuns: runs(25) },
    );
  },
  120_000,
);
