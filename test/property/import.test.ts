import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ImportedPlan } from '../../src/import/import-api.ts';
import { bead, dep, importBeads } from '../support/issues.ts';

/* Whatever an export says, every issue and every dependency is accounted for, and what must wait waits. */

const ids = ['a', 'B', 'b', 'c/d', 'e', 'f', 'no', 'bd-1.2', 'x-done', 'x'];
const id = fc.constantFrom(...ids);
const target = fc.oneof(
  { weight: 9, arbitrary: id },
  fc.constantFrom('gone', 'external:gt:e', 'external:gt:far', ''),
);
const type = fc.constantFrom(
  ...[
    'blocks',
    'blocks',
    'parent-child',
    'parent-child',
    'conditional-blocks',
    'waits-for',
    'tracks',
    'related',
    'until',
  ],
);
const fields = fc.record({
  title: fc.string({ unit: 'binary', maxLength: 90 }),
  description: fc.string({
    unit: fc.constantFrom('\n', ' ', '-', ':', '#', '|', 'x', '\t', '\r', '"', '\u0000', '\ud800'),
    maxLength: 30,
  }),
  status: fc.constantFrom(
    'open',
    'open',
    'open',
    'closed',
    'in_progress',
    'hooked',
    'deferred',
    'pinned',
    'strange',
  ),
  issue_type: fc.constantFrom(
    'task',
    'task',
    'epic',
    'epic',
    'convoy',
    'gate',
    'message',
    'merge-request',
    'odd',
  ),
  close_reason: fc.constantFrom('done', 'failed'),
  priority: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(undefined)),
  updated_at: fc.constantFrom('2026-01-01', '2026-01-02'),
});
const issue = fc
  .tuple(id, fields, fc.array(fc.tuple(target, type), { maxLength: 4 }))
  .map(([own, given, deps]) =>
    bead(own, { ...given, dependencies: deps.map(([to, kind]) => dep(own, to, kind)) }),
  );
const exported = fc.oneof(
  fc.uniqueArray(issue, { selector: (each) => each.id, minLength: 1, maxLength: 10 }),
  fc.array(issue, { minLength: 1, maxLength: 12 }),
);

function expectSums({ report }: Pick<ImportedPlan, 'report'>, read: number): void {
  const { issues, dependencies } = report;
  expect(issues.read).toBe(read);
  const { read: allIssues, ...kindsOfIssues } = issues;
  expect(sum(kindsOfIssues)).toBe(allIssues);
  const { read: allEdges, ...kindsOfEdges } = dependencies;
  expect(sum(kindsOfEdges)).toBe(allEdges);
  const lostOf = (kind: string) => report.lost.filter((each) => each.kind === kind).length;
  expect([lostOf('issue'), lostOf('dependency')]).toEqual([issues.lost, dependencies.lost]);
}

const sum = (amounts: object) => Object.values(amounts).reduce((total: number, each) => total + each, 0);

/** Nothing to do is no failure of the import. */
async function importAny(records: readonly object[]) {
  try {
    return await importBeads(records, { allowLoss: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'IMPORT_INVALID') return null;
    throw error;
  }
}

it('the numbers of a report add up', async () => {
  await fc.assert(
    fc.asyncProperty(exported, async (records) => {
      const imported = await importAny(records);
      if (imported === null) return;
      expectSums(imported, records.length);
      expect(imported.tasks.filter(({ convoy }) => convoy.prompt !== null)).toHaveLength(
        imported.report.issues.tasks,
      );
    }),
    { numRuns: 400 },
  );
});

it('every dependency that affects what runs is a need, is satisfied, or is reported as lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(issue, { selector: (each) => each.id, minLength: 2, maxLength: 10 }),
      async (records) => {
        const imported = await importAny(records);
        if (imported === null) return;
        const taskOf = new Map(imported.names.map(({ issue: own, id: name }) => [own, name]));
        const lost = new Set(imported.report.lost.map(({ what }) => what));
        const reachable = (from: string) => {
          const seen = new Set([from]);
          for (const each of seen) for (const need of imported.needs[each] ?? []) seen.add(need);
          return seen;
        };
        for (const { id: own, dependencies } of records) {
          if (!Array.isArray(dependencies)) continue;
          for (const { depends_on_id: to, type: kind } of dependencies) {
            const [from, goal] = [taskOf.get(own), taskOf.get(to.replace('external:gt:', ''))];
            const isWait = ['blocks', 'conditional-blocks', 'waits-for'].includes(kind);
            if (!isWait || from === undefined || lost.has(`${own} → ${to} (${kind})`.replace('  ', ' ')))
              continue;
            if (goal !== undefined) expect([own, to, reachable(from).has(goal)]).toEqual([own, to, true]);
            else expect([to, isSettled(records, to)]).toEqual([to, true]);
          }
        }
      },
    ),
    { numRuns: 400 },
  );
});

/** Is it closed, or a group, whose parts are the tasks to wait for? */
function isSettled(records: readonly { id: string; [field: string]: unknown }[], to: string): boolean {
  const found = records.find((each) => each.id === to.replace('external:gt:', ''));
  return found?.status === 'closed' || found?.issue_type === 'epic' || found?.issue_type === 'convoy';
}

it('what waits for an epic waits for all of its parts, and what an epic waits for all its parts wait for', async () => {
  const shape = fc.record({
    parts: fc.integer({ min: 1, max: 15 }),
    others: fc.integer({ min: 1, max: 15 }),
    isNested: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(shape, async ({ parts, others, isNested }) => {
      const part = (name: string, epic: string) =>
        bead(name, { dependencies: [dep(name, epic, 'parent-child')] });
      const firsts = Array.from({ length: parts }, (_, index) =>
        part(`f${index}`, isNested ? 'inner' : 'first'),
      );
      const seconds = Array.from({ length: others }, (_, index) => part(`s${index}`, 'second'));
      const { needs, report } = await importBeads([
        bead('first', { issue_type: 'epic' }),
        ...(isNested
          ? [bead('inner', { issue_type: 'epic', dependencies: [dep('inner', 'first', 'parent-child')] })]
          : []),
        bead('second', { issue_type: 'epic', dependencies: [dep('second', 'first')] }),
        ...firsts,
        ...seconds,
      ]);
      expect(report.lost).toEqual([]);
      for (const second of seconds) {
        const seen = new Set([second.id]);
        for (const each of seen) for (const need of needs[each] ?? []) seen.add(need);
        expect(firsts.filter(({ id: first }) => !seen.has(first))).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});
