import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decideCollisions,
  decideHolds,
  type KnownCollisions,
  noCollisions,
} from '../../src/convoy/collisions/decide-collisions.ts';
import type { Collision } from '../../src/convoy/collisions/find-collisions.ts';
import { parseEpicId, parseOid } from '../../src/ids.ts';

const convoy = parseEpicId('auth');
const commits = [parseOid('a'.repeat(40)), parseOid('b'.repeat(40))] as const;
const between = (one: string, other: string, ...files: string[]): Collision => ({
  ...{ one, other, files, commits },
});

/** Decides about one look after the other. */
function look(looks: readonly (readonly Collision[])[]) {
  let known: KnownCollisions = noCollisions;
  return looks.map((now) => {
    const changes = decideCollisions(convoy, known, now);
    known = changes.known;
    return changes;
  });
}

describe('workers hear of collisions', () => {
  it('both, with the other and the files, and what to do', () => {
    const [{ messages } = expect.fail()] = look([[between('a', 'b', 'src/my app.ts', 'x')]]);
    expect(messages).toEqual([
      {
        task: 'a',
        text: `What you have changed conflicts with what task b is changing at the same time, in src/my app.ts, x.
Keep going, but do not reformat, move or rename anything there, so that both can be merged.
To see the other's changes: git diff orch/auth/merged...bbbbbbbbbbbb -- 'src/my app.ts' x`,
      },
      { task: 'b', text: expect.stringContaining('what task a is changing') },
    ]);
  });

  it('only the worker, if it is what was merged', () => {
    const [{ messages } = expect.fail()] = look([[between('a', 'merged', 'x')]]);
    expect(messages.map(({ task }) => task)).toEqual(['a']);
    expect(messages[0]?.text).toContain('git diff HEAD...orch/auth/merged -- x');
  });

  it('in few words, if there are many files', () => {
    const files = Array.from({ length: 400 }, (_, n) => `file-${n}`);
    const [{ messages } = expect.fail()] = look([[between('a', 'b', ...files)]]);
    expect(messages[0]?.text).toContain('file-9 and 390 more');
    expect(messages[0]?.text.length).toBeLessThan(600);
  });

  it('of each file once, whatever comes and goes', () => {
    const task = fc.constantFrom('a', 'b', 'c');
    const collision = fc
      .record({
        one: task,
        other: fc.constantFrom('a', 'b', 'c', 'merged'),
        files: fc.subarray(['x', 'y', 'z'], { minLength: 1 }),
      })
      .filter(({ one, other }) => one !== other);
    const now = fc.uniqueArray(collision, {
      selector: ({ one, other }) => [one, other].sort().join(),
      maxLength: 4,
    });
    fc.assert(
      fc.property(fc.array(now, { maxLength: 8 }), (looks) => {
        const heard = new Set<string>();
        const all = look(
          looks.map((each) => each.map(({ one, other, files }) => between(one, other, ...files))),
        );
        for (const { messages } of all)
          for (const { task, text } of messages) {
            const [, other = 'merged'] = /what task (\w)/.exec(text) ?? [];
            for (const file of /, in (.*)\./.exec(text)?.[1]?.split(', ') ?? []) {
              expect(heard).not.toContain(`${task} ${other} ${file}`);
              heard.add(`${task} ${other} ${file}`);
            }
          }
        for (const { one, other, files } of looks.flat())
          for (const file of files) expect(heard).toContain(`${one} ${other} ${file}`);
      }),
    );
  });

  it('and the convoy of those that began and ended', () => {
    const [first, second, third] = look([[between('a', 'b', 'x')], [between('b', 'a', 'y')], []]);
    expect([first?.began.length, first?.ended.length]).toEqual([1, 0]);
    expect([second?.began.length, second?.ended.length]).toEqual([0, 0]);
    expect([third?.began.length, third?.ended.length]).toEqual([0, 1]);
  });
});

describe('collisions that hold tasks', () => {
  const began = new Map([
    ['a', 1],
    ['b', 2],
    ['c', 2],
  ]);

  it('hold the one that began later, until the other is out of the way', () => {
    expect(decideHolds([between('b', 'a', 'x')], began)).toEqual(new Map([['b', ['a']]]));
    expect(decideHolds([between('b', 'c', 'x'), between('a', 'c', 'x')], began)).toEqual(
      new Map([['c', ['a', 'b']]]),
    );
    expect(decideHolds([between('a', 'merged', 'x'), between('gone', 'b', 'x')], began)).toEqual(new Map());
  });

  it('never hold two for one another, so that one can always go', () => {
    const task = fc.integer({ min: 0, max: 9 }).map((n) => `t${n}`);
    const pair = fc.tuple(task, task).filter(([one, other]) => one !== other);
    const starts = fc.array(fc.nat(5), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(fc.array(pair), starts, (pairs, all) => {
        const began = new Map(all.map((at, n) => [`t${n}`, at]));
        const holds = decideHolds(
          pairs.map(([one, other]) => between(one, other, 'x')),
          began,
        );
        const free = [...began.keys()].filter((each) => !holds.has(each));
        expect(free.length).toBeGreaterThan(0);
        for (const [waits, goes] of holds)
          for (const each of goes) expect(began.get(each) ?? 0).toBeLessThanOrEqual(began.get(waits) ?? 0);
      }),
    );
  });
});
