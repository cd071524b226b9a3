import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEpicId, parseOid } from '../../src/ids.ts';
import { planSync, type SyncFacts, type SyncPlan } from '../../src/sync/plan-sync.ts';
import type { Oid } from '../../src/types.ts';

const oid = (digit: string) => parseOid(digit.repeat(40));
const [one, two, three] = [oid('1'), oid('2'), oid('3')];
const epics = 'refs/orchestration/epics/';
const snapshots = 'refs/orchestration/snapshots/';
const everything = { epic: null, snapshots: true };

type Given = {
  readonly [K in 'ours' | 'theirs' | 'tracked']?: Readonly<Record<string, Oid>>;
} & { readonly keptAway?: readonly string[] };

function facts({ ours = {}, theirs = {}, tracked = {}, keptAway = [] }: Given): SyncFacts {
  const refs = (side: Readonly<Record<string, Oid>>) => new Map(Object.entries(side));
  return { ours: refs(ours), theirs: refs(theirs), tracked: refs(tracked), keptAway: new Set(keptAway) };
}

/** The refs in each list. */
function names(plan: SyncPlan): Record<string, string[]> {
  const lists = Object.entries(plan).map(([list, refs]) => [
    list,
    refs.map(({ ref }: { ref: string }) => ref),
  ]);
  return Object.fromEntries(lists.filter(([, refs]) => refs?.length));
}

describe('what a sync does with a ref', () => {
  const x = `${epics}x`;

  it.each<[what: string, given: Given, expected: Record<string, string[]>]>([
    ['the same, and known: nothing', { ours: { [x]: one }, theirs: { [x]: one }, tracked: { [x]: one } }, {}],
    ['the same, by plain git: noted', { ours: { [x]: one }, theirs: { [x]: one } }, { seen: [x] }],
    ['only here: sent', { ours: { [x]: one } }, { send: [x] }],
    ['gone there: sent again', { ours: { [x]: one }, tracked: { [x]: one } }, { send: [x] }],
    ['only there: fetched and joined', { theirs: { [x]: one } }, { fetch: [x], join: [x] }],
    ['another one there', { ours: { [x]: one }, theirs: { [x]: two } }, { fetch: [x], join: [x] }],
    [
      'another one there that was fetched: joined',
      { ours: { [x]: one }, theirs: { [x]: two }, tracked: { [x]: two } },
      { join: [x] },
    ],
    ['deleted here: stays away', { theirs: { [x]: one }, keptAway: [x] }, {}],
    [
      'the snapshots of an epic that was deleted here: not sent',
      { ours: { [`${snapshots}x/sess-abcd`]: one } },
      {},
    ],
    [
      'deleted here and begun anew: joined',
      { ours: { [x]: two }, theirs: { [x]: one }, keptAway: [x] },
      { fetch: [x], join: [x] },
    ],
  ])('%s', (_, given, expected) => {
    expect(names(planSync(facts(given), everything))).toEqual(expected);
  });

  it('sends snapshots that are here, fetches those that are not, and joins none', () => {
    const [mine, others] = [`${snapshots}x/sess-mine`, `${snapshots}x/sess-others`];
    const both = { [x]: one };
    const given = {
      ours: { ...both, [mine]: two },
      theirs: { ...both, [mine]: one, [others]: three },
      tracked: both,
    };
    expect(names(planSync(facts(given), everything))).toEqual({ fetch: [others], send: [mine] });
    expect(names(planSync(facts(given), { epic: null, snapshots: false }))).toEqual({});
  });

  it('keeps the snapshots of an epic away that was deleted here', () => {
    const given = { theirs: { [x]: one, [`${snapshots}x/sess-mine`]: two }, keptAway: [x] };
    expect(names(planSync(facts(given), everything))).toEqual({});
  });

  it('takes one epic only, where one is named', () => {
    const given = { ours: { [x]: one, [`${epics}y`]: one, [`${snapshots}y/sess-abcd`]: one } };
    expect(names(planSync(facts(given), { epic: parseEpicId('y'), snapshots: true }))).toEqual({
      send: [`${epics}y`, `${snapshots}y/sess-abcd`],
    });
  });

  it('leaves alone what no orch named, and says so', () => {
    const strange = ['epics/a..b', 'epics/a/b', 'epics/con', 'snapshots/x', 'snapshots/x/y', 'other/x'];
    const theirs = Object.fromEntries(strange.map((name) => [`refs/orchestration/${name}`, one]));
    const plan = planSync(facts({ theirs }), everything);
    expect(plan.skipped).toHaveLength(strange.length);
    expect(names({ ...plan, skipped: [] })).toEqual({});
  });

  it('goes on with one of two epics that differ by case: ours, else the first', () => {
    const there = { [`${epics}Feat`]: one, [`${epics}feat`]: two };
    const plan = planSync(facts({ theirs: there }), everything);
    expect(names(plan)).toEqual({
      fetch: [`${epics}Feat`],
      join: [`${epics}Feat`],
      skipped: [`${epics}feat`],
    });
    const withOurs = planSync(facts({ ours: { [`${epics}feat`]: three }, theirs: there }), everything);
    expect(names(withOurs)).toEqual({
      fetch: [`${epics}feat`],
      join: [`${epics}feat`],
      skipped: [`${epics}Feat`],
    });
    expect(withOurs.skipped[0]?.reason).toContain('feat only by case');
  });

  it('never sends what is not here, nor fetches what is not there, nor does both sides of nothing', () => {
    const ref = fc.constantFrom('epics/a', 'epics/b', 'epics/A', 'snapshots/a/sess-aaaa', 'epics/..');
    const side = fc.dictionary(
      ref.map((name) => `refs/orchestration/${name}`),
      fc.constantFrom(one, two, three),
    );
    fc.assert(
      fc.property(side, side, side, (ours, theirs, tracked) => {
        const plan = planSync(facts({ ours, theirs, tracked }), everything);
        for (const each of plan.send) expect(each.ours).not.toBeNull();
        for (const each of [...plan.fetch, ...plan.join]) expect(each.theirs).not.toBeNull();
        const touched = [...plan.send, ...plan.fetch, ...plan.join];
        for (const each of touched) expect(each.ours).not.toBe(each.theirs);
        // What is here and differs is sent, joined or said; but for the snapshots of an epic that was deleted.
        for (const [name, at] of Object.entries(ours)) {
          const isSaid = [...touched, ...plan.skipped].some((each) => each.ref === name);
          const isDeleted = name.startsWith(`${snapshots}a/`) && !(`${epics}a` in ours);
          expect(isSaid || theirs[name] === at || isDeleted).toBe(true);
        }
      }),
    );
  });
});
