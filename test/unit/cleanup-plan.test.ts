import { describe, expect, it } from 'vitest';
import { parseEpicId, parseOid, parseSessionId } from '../../src/ids.ts';
import type { SessionCondition } from '../../src/record/sessions.ts';
import {
  type CleanupFacts,
  type CleanupItem,
  type EpicFacts,
  planCleanup,
  type Retention,
} from '../../src/upkeep/cleanup/plan-cleanup.ts';

const day = 86_400_000;
const now = 1_800_000_000_000;
const retention: Retention = { failed: 7 * day, snapshots: 30 * day, trash: 30 * day, archive: 30 * day };
const epic = parseEpicId('e');
const [old, other] = [parseSessionId('sess-old1'), parseSessionId('sess-new1')];
const oid = parseOid('1'.repeat(40));

type Ended = readonly [condition: SessionCondition, daysAgo: number];

function describeEpic(sessions: Record<string, Ended>, more: Partial<EpicFacts> = {}): EpicFacts {
  const known = Object.entries(sessions).map(
    ([id, [condition, days]]) => [parseSessionId(id), { condition, at: now - days * day }] as const,
  );
  return {
    tip: oid,
    problem: null,
    sessions: new Map(known),
    isComplete: true,
    pending: 0,
    green: null,
    latest: null,
    completedAt: null,
    ...more,
  };
}

function snapshots(session: string, daysAgo: number): CleanupItem {
  const ref = `refs/orchestration/snapshots/e/${session}`;
  return { kind: 'snapshots', epic, session: parseSessionId(session), ref, oid, at: now - daysAgo * day };
}

const file = (daysAgo: number) => ({ path: '/home/x', mark: 'm', bytes: 10, at: now - daysAgo * day });

/** Is the first item removed, and why. */
function judge(
  items: readonly CleanupItem[],
  known: EpicFacts | null,
  more: Partial<CleanupFacts> & { readonly retention?: Retention } = {},
): readonly [boolean, string] {
  const epics = new Map(known ? [[epic, known] as const] : []);
  const facts = { epics, items, ...more };
  const [first] = planCleanup(facts, more.retention ?? retention, now);
  return [first?.isRemoved ?? false, first?.why ?? ''];
}

describe('snapshots of', () => {
  const newer = snapshots(other, 0);
  const both = (condition: SessionCondition, days: number, more: Partial<EpicFacts> = {}) =>
    describeEpic({ [old]: [condition, days], [other]: ['running', 0] }, more);

  it.each<[what: string, known: EpicFacts | null, isRemoved: boolean, why: RegExp]>([
    ['a session that ended long ago', both('paused', 31), true, /ended 31d ago/],
    ['one that failed long ago', both('failed', 31), true, /ended 31d ago/],
    ['one that ended lately', both('paused', 29), false, /kept for 30d/],
    ['one that runs', both('running', 99), false, /is running/],
    ['one that was interrupted', both('interrupted', 99), false, /recovered/],
    ['one that may run elsewhere', both('elsewhere', 99), false, /elsewhere/],
    ['one nobody knows', describeEpic({ [other]: ['running', 0] }), false, /is unknown/],
    [
      'one that a long list has dropped',
      describeEpic({ [other]: ['running', 0] }, { isComplete: false }),
      true,
      /ended 90d ago/,
    ],
    ['the last green code', both('paused', 99, { green: old }), false, /passed all gates/],
    ['the newest code, by a clock that is behind', both('paused', 99, { latest: old }), false, /newest/],
    ['an epic that cannot be read', both('paused', 99, { problem: 'it is damaged' }), false, /damaged/],
    ['an epic that is gone', null, true, /its epic is gone/],
  ])('%s', (_, known, isRemoved, why) => {
    expect(judge([snapshots(old, 90), newer], known)).toEqual([isRemoved, expect.stringMatching(why)]);
  });

  it('the newest of an epic, however old; of two of the same second, both', () => {
    const known = describeEpic({ [old]: ['paused', 99], [other]: ['paused', 99] });
    expect(judge([snapshots(old, 99)], known)).toEqual([false, 'the newest of its epic']);
    for (const pair of [
      [snapshots(old, 99), snapshots(other, 99)],
      [snapshots(other, 99), snapshots(old, 99)],
    ])
      expect(judge(pair, known)[0]).toBe(false);
  });

  it('what is in the trash', () => {
    const trash: CleanupItem = { kind: 'trash', epic, ref: 't', oid, at: now - 10 * day };
    expect(judge([snapshots(old, 99), trash], null)).toEqual([false, 'its epic is in the trash']);
  });
});

describe('the floor', () => {
  const none: Retention = { failed: 0, snapshots: 0, trash: 0, archive: 0 };
  it.each<[what: string, item: CleanupItem]>([
    ['snapshots', snapshots(old, 0.9)],
    ['an epic', { kind: 'epic', epic, ref: 'r', oid }],
    ['trash', { kind: 'trash', epic, ref: 't', oid, at: now - 0.9 * day }],
    [
      'an undo',
      { kind: 'undo', worktree: 'w', isGone: true, isNewest: false, ref: 'u', oid, at: now - 0.9 * day },
    ],
    ['a log', { kind: 'log', sessions: [old], file: file(99) }],
    ['damaged objects', { kind: 'damaged', file: file(0.9) }],
    ['leftovers', { kind: 'leftover', what: 'brief', session: null, file: file(0.9) }],
  ])('keeps %s of the last day, whatever the settings say', (_, item) => {
    const known = describeEpic({ [old]: ['failed', 0.9] });
    const items = [item, snapshots(other, 0)];
    expect(judge(items, known, { retention: none })).toEqual([false, expect.stringMatching(/within a day/)]);
  });
});

describe('an epic goes to the trash', () => {
  const item: CleanupItem = { kind: 'epic', epic, ref: 'r', oid };
  it.each<[what: string, known: EpicFacts, isRemoved: boolean]>([
    ['where every session failed', describeEpic({ [old]: ['failed', 9], [other]: ['failed', 8] }), true],
    [
      'not where the last failed lately',
      describeEpic({ [old]: ['failed', 9], [other]: ['failed', 6] }),
      false,
    ],
    ['not where one did not', describeEpic({ [old]: ['failed', 9], [other]: ['paused', 9] }), false],
    ['not where one runs', describeEpic({ [old]: ['failed', 9], [other]: ['running', 9] }), false],
    ['not where it has none', describeEpic({}), false],
    ['not where some were dropped', describeEpic({ [old]: ['failed', 9] }, { isComplete: false }), false],
    ['not where it was green', describeEpic({ [old]: ['failed', 9] }, { green: old }), false],
    ['not with events of its own', describeEpic({ [old]: ['failed', 9] }, { pending: 1 }), false],
  ])('%s', (_, known, isRemoved) => {
    expect(judge([item], known)[0]).toBe(isRemoved);
  });
});

describe('a log', () => {
  const log = (...sessions: string[]): CleanupItem => ({
    kind: 'log',
    sessions: sessions.map(parseSessionId),
    file: file(10),
  });
  it.each<[what: string, item: CleanupItem, known: EpicFacts, isRemoved: boolean]>([
    ['of a failed session goes after a week', log(old), describeEpic({ [old]: ['failed', 8] }), true],
    ['of another ended one stays longer', log(old), describeEpic({ [old]: ['paused', 8] }), false],
    ['of another goes in the end', log(old), describeEpic({ [old]: ['paused', 31] }), true],
    [
      'of a run stays while one of its sessions works',
      log(old, other),
      describeEpic({ [old]: ['failed', 99], [other]: ['running', 1] }),
      false,
    ],
    ['of nobody stays a while', log(), describeEpic({}), false],
  ])('%s', (_, item, known, isRemoved) => {
    expect(judge([item], known)[0]).toBe(isRemoved);
  });
});

it('a retention that is off keeps for ever', () => {
  const off: Retention = { failed: null, snapshots: null, trash: null, archive: null };
  const known = describeEpic({ [old]: ['failed', 999] });
  for (const item of [
    snapshots(old, 999),
    { kind: 'epic', epic, ref: 'r', oid } as const,
    { kind: 'trash', epic, ref: 't', oid, at: 0 } as const,
    { kind: 'log', sessions: [old], file: file(999) } as const,
  ])
    expect(judge([item, snapshots(other, 0)], known, { retention: off })).toEqual([
      false,
      expect.stringMatching(/is off/),
    ]);
});

describe('what a run keeps in the tree', () => {
  const worked = describeEpic({ [old]: ['failed', 99], [other]: ['paused', 0] });
  const run = (status: (CleanupItem & { kind: 'run' })['status'], days: number): CleanupItem => {
    const at = now - days * day;
    return {
      kind: 'run',
      epic,
      run: 'run-a',
      plan: 'release',
      status,
      files: 2,
      hasRecords: false,
      at,
      seen: at,
    };
  };

  it.each<[what: string, item: CleanupItem, known: EpicFacts | null, isRemoved: boolean, why: RegExp]>([
    ['one that failed goes after a week', run('failed', 8), worked, true, /failed 8d ago/],
    ['one that is blocked too', run('blocked', 8), worked, true, /failed 8d ago/],
    ['not before', run('failed', 6), worked, false, /kept for 7d/],
    ['one that succeeded goes with the code', run('succeeded', 31), worked, true, /succeeded 31d ago/],
    ['not with the failed', run('succeeded', 29), worked, false, /kept for 30d/],
    ['one that is to be resumed stays', run('resume_needed', 999), worked, false, /not finished/],
    ['one that runs stays', run('running', 999), worked, false, /not finished/],
    ['none of a damaged epic', run('failed', 99), { ...worked, problem: 'damaged' }, false, /damaged/],
    ['it goes with its epic', run('failed', 99), describeEpic({ [old]: ['failed', 99] }), false, /trash/],
  ])('%s', (_, item, known, isRemoved, why) => {
    expect(judge([item], known)).toEqual([isRemoved, expect.stringMatching(why)]);
  });
});

describe('a completed epic', () => {
  const completed: CleanupItem = { kind: 'completed', epic };
  const done = (daysAgo: number, sessions: Record<string, Ended> = { [old]: ['completed', daysAgo] }) =>
    describeEpic(sessions, { completedAt: now - daysAgo * day });
  it('is archived after its time', () => {
    expect(judge([completed], done(31))).toEqual([true, 'completed 31d ago']);
    expect(judge([completed], done(29))).toEqual([false, 'completed 29d ago; kept for 30d']);
  });
  it('is not while another session is open on it', () => {
    const both = { [old]: ['completed', 31], [other]: ['elsewhere', 31] } as const;
    expect(judge([completed], done(31, both))).toEqual([false, 'its session may be running elsewhere']);
  });
});
