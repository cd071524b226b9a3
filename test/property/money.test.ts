import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDocument, sealDocument } from '../../src/checkpoint/document/document.ts';
import { formatMessage } from '../../src/checkpoint/document/message.ts';
import { documentName, epicFolder, epicRef } from '../../src/checkpoint/document/names-in-git.ts';
import { readCommitAndDocument } from '../../src/checkpoint/read-base.ts';
import {
  compactRow,
  isAhead,
  type LedgerRow,
  mergeRows,
  noUsage,
  reconcileRow,
  totalUsage,
  type Usage,
  usedBy,
  withTotals,
} from '../../src/cost/ledger.ts';
import { append } from '../../src/git/objects/append-commits.ts';
import { makeCheckpointId } from '../../src/ids.ts';
import { journalFolder, listJournals } from '../../src/journal/read.ts';
import { readView } from '../../src/record/view.ts';
import { saveByHand } from '../../src/session/calls.ts';
import { canonicalJson } from '../../src/state/canonical.ts';
import type { State } from '../../src/state/lists.ts';
import { type Clone, fetchAndMerge, makeClone } from '../support/clones.ts';
import { makeFolder } from '../support/repository.ts';
import { cost, epic, note } from '../support/store.ts';

const amount = fc.integer({ min: 0, max: 5 });
const usage: fc.Arbitrary<Usage> = amount.map((micros) => ({ ...noUsage, micros }));
const sessions = fc.constantFrom('sess-aaaa', 'sess-bbbb', 'sess-cccc');

/** Any row at all, also what no honest writer would make. */
const row: fc.Arbitrary<LedgerRow> = fc
  .record({
    generation: fc.integer({ min: 0, max: 2 }),
    folded: fc.dictionary(sessions, amount),
    meters: fc.dictionary(
      sessions.map((session) => `${session}/m`),
      usage,
    ),
    total: fc.option(usage, { nil: undefined }),
  })
  .map(({ total, ...rest }) => (total ? { ...rest, total } : rest));

const stored = row.map((value) => withTotals({ w: { value } }).w?.value ?? value);
const same = (a: unknown, b: unknown) => expect(canonicalJson(a)).toBe(canonicalJson(b));

describe('rows of the ledger, honest or forged', () => {
  it('I6: merge commutatively, associatively and idempotently', () => {
    fc.assert(
      fc.property(row, row, row, (a, b, c) => {
        same(mergeRows(a, b), mergeRows(b, a));
        same(mergeRows(mergeRows(a, b), c), mergeRows(a, mergeRows(b, c)));
        same(mergeRows(a, a), a);
      }),
      { numRuns: 2_000 },
    );
  });

  it('I6: never lower what a stored one says', () => {
    fc.assert(
      fc.property(stored, row, (known, arriving) => {
        const merged = usedBy(mergeRows(known, arriving));
        expect(merged.micros).toBeGreaterThanOrEqual(usedBy(known).micros);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of a clone that was set back add up what both lives counted, whichever of them was summed up', () => {
    const life = fc.record({ more: fc.dictionary(sessions, amount), isCompact: fc.boolean() });
    fc.assert(
      fc.property(fc.dictionary(sessions, amount), life, life, (before, one, other) => {
        const base: LedgerRow = { generation: 0, folded: {}, meters: metersOf(before, 'm') };
        const live = ({ more, isCompact }: typeof one, model: string): LedgerRow => {
          const grown = addTo(base, more, model);
          return isCompact ? compactRow(grown, () => true) : grown;
        };
        const [ours, theirs] = [live(one, 'm'), live(other, 'm')];
        const sum = (amounts: object) => Object.values(amounts).reduce((total, value) => total + value, 0);
        const reconciled = reconcileRow(base, ours, theirs);
        const isForked = isAhead(theirs, ours);
        if (isForked) expect(usedBy(reconciled).micros).toBe(sum(before) + sum(one.more) + sum(other.more));
        // From then on it counts for everybody.
        if (isForked) same(mergeRows(reconciled, theirs), reconciled);
      }),
      { numRuns: 2_000 },
    );
  });
});

function metersOf(amounts: { readonly [session: string]: number }, model: string): LedgerRow['meters'] {
  return Object.fromEntries(
    Object.entries(amounts).map(([session, micros]) => [`${session}/${model}`, { ...noUsage, micros }]),
  );
}

function addTo(base: LedgerRow, more: { readonly [session: string]: number }, model: string): LedgerRow {
  const meters = new Map(Object.entries(base.meters));
  for (const [name, { micros }] of Object.entries(metersOf(more, model)))
    meters.set(name, { ...noUsage, micros: micros + (meters.get(name)?.micros ?? 0) });
  return { ...base, meters: Object.fromEntries(meters) };
}

type Step =
  | { readonly do: 'save' | 'backup' | 'restore' | 'compact'; readonly clone: number }
  | { readonly do: 'fetch'; readonly from: number; readonly to: number }
  | { readonly do: 'forge'; readonly by: number; readonly about: number; readonly row: LedgerRow };

const index = fc.integer({ min: 0, max: 2 });
const steps = (isHonest: boolean): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('save' as const), clone: index }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('fetch' as const), from: index, to: index }) },
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constantFrom('backup', 'restore', 'compact'), clone: index }),
      } as { weight: number; arbitrary: fc.Arbitrary<Step> },
      ...(isHonest
        ? []
        : [
            {
              weight: 2,
              arbitrary: fc.record({ do: fc.constant('forge' as const), by: index, about: index, row }),
            },
          ]),
    ),
    { minLength: 4, maxLength: 24 },
  );

const spent = async ({ orch }: Clone) => totalUsage((await readView(orch, epic)).state.ledger).micros;

/** A commit on a clone's ref whose ledger is another. */
async function writeLedger({ orch }: Clone, change: (state: State) => State['ledger']): Promise<void> {
  const tip = await orch.git.readRef(epicRef(epic));
  if (tip === null) return;
  const { commit, document } = await readCommitAndDocument(orch.git, epic, tip);
  const seq = document.seq + 1;
  const id = makeCheckpointId(seq, 'f0rged');
  const { integrity: _, ...content } = document;
  const state = { ...document.state, ledger: change(document.state) };
  const made = sealDocument({ ...content, id, seq, state, events: [] });
  const money = totalUsage(state.ledger).micros;
  const message = formatMessage(
    { ...made, cost: money, budget: null, gates: 'unknown', head: null, notSaved: null, agent: null },
    'x',
  );
  const edits = new Map([[documentName(id), formatDocument(made)]]);
  const { committedAt } = commit;
  await append(orch.git, { ref: epicRef(epic), expected: tip, parents: [tip], base: commit.tree }, [
    { folder: epicFolder(epic), edits, message, authoredAt: committedAt, committedAt },
  ]);
}

async function play(
  all: readonly Step[],
  onFetch: (before: number, after: number) => void,
): Promise<Clone[]> {
  const clones = [makeClone('w-a', 0), makeClone('w-b', -7_200_000), makeClone('w-c', 3_600_000)];
  const backups = new Map<number, { folder: string; refs: Map<string, string> }>();
  const at = (which: number) => clones[which] ?? makeClone('none', 0);
  let saved = 0;
  const fetch = async (from: Clone, to: Clone) => {
    const before = await spent(to);
    await fetchAndMerge(from, to);
    onFetch(before, await spent(to));
  };
  for (const step of all) {
    if (step.do === 'fetch') await fetch(at(step.from), at(step.to));
    else if (step.do === 'forge') {
      const about = await at(step.about).orch.identifyWriter();
      await writeLedger(at(step.by), ({ ledger }) => ({
        ...ledger,
        [about]: { value: step.row, stamp: [1, about, 0] },
      }));
    } else {
      const { orch, repository } = at(step.clone);
      const backup = backups.get(step.clone);
      if (step.do === 'save') {
        const facts = [note(`n${saved++}`), cost(7)];
        await saveByHand(orch, epic, { trigger: 'manual', reason: null, facts, agent: null });
      } else if (step.do === 'backup') {
        const folder = join(makeFolder(), 'backup');
        cpSync(orch.home, folder, { recursive: true });
        backups.set(step.clone, { folder, refs: new Map(repository.refs) });
      } else if (step.do === 'restore' && backup) {
        rmSync(orch.home, { recursive: true });
        cpSync(backup.folder, orch.home, { recursive: true });
        repository.refs.clear();
        for (const [ref, oid] of backup.refs) repository.refs.set(ref, oid as never); // as it was read
      } else if (step.do === 'compact') {
        const writer = await orch.identifyWriter();
        const begun: readonly string[] = listJournals(journalFolder(orch.home));
        const known = (session: string) => !begun.includes(session);
        await writeLedger(at(step.clone), ({ ledger }) => {
          const own = ledger[writer];
          return own
            ? withTotals({ ...ledger, [writer]: { ...own, value: compactRow(own.value, known) } })
            : ledger;
        });
      }
    }
  }
  for (let round = 0; round < 3; round++)
    for (const from of clones) for (const to of clones) await fetch(from, to);
  return clones;
}

describe('any history of saves, backups, restores, compactions, forgeries and merges', () => {
  it('I6: never lowers what a clone has acknowledged', async () => {
    await fc.assert(
      fc.asyncProperty(steps(false), async (all) => {
        await play(all, (before, after) => expect(after).toBeGreaterThanOrEqual(before));
      }),
      { numRuns: 60 },
    );
  }, 120_000);

  it('I6: is exact to the micro-dollar where nobody lies', async () => {
    await fc.assert(
      fc.asyncProperty(steps(true), async (all) => {
        const clones = await play(all, (before, after) => expect(after).toBeGreaterThanOrEqual(before));
        for (const clone of clones) {
          const { state } = await readView(clone.orch, epic);
          // Each was saved with a note: what a restored backup forgot for good counts in neither.
          expect(totalUsage(state.ledger).micros).toBe(7 * Object.keys(state.notes).length);
        }
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});
