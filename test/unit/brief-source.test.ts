import { describe, expect, it } from 'vitest';
import {
  findBriefSource,
  findSuccessor,
  hasResumableContext,
} from '../../src/checkpoint/brief/brief-source.ts';
import { parseSessionId } from '../../src/ids.ts';
import type { Fact } from '../../src/state/facts.ts';
import { emptyState } from '../../src/state/lists.ts';
import { facts, first, momentOf, type Story, second, tellStories, third } from '../support/stories.ts';

const work = (id: string): [string, Fact] => ['10:00', facts.note(id, 'work')];
const one: Story = { session: first, number: 1, said: [work('a'), ['10:01', facts.paused()]] };
const idle: Story = { session: second, number: 2, parent: first, said: [['11:00', facts.paused()]] };
const two: Story = { ...idle, said: [['11:00', facts.note('b', 'more')]] };
const three: Story = {
  session: third,
  number: 3,
  parent: second,
  said: [['12:00', facts.note('c', 'more')]],
};

describe('the source of a brief', () => {
  it.each<[what: string, stories: Story[], source: string | null]>([
    ['nobody', [], null],
    ['nobody who worked', [idle], null],
    ['the only one', [one], first],
    ['the newest that worked', [one, two], second],
    ['not one that came and went', [one, idle], first],
    ['the one after that', [one, idle, three], third],
    [
      'the one that resumed, though its clock is behind',
      [one, { ...two, said: [['08:00', facts.note('b', 'more')]] }],
      second,
    ],
  ])('is %s', (_, stories, source) => {
    expect(findBriefSource(tellStories(...stories))?.session ?? null).toBe(source);
  });

  it('is found even where sessions claim to be each other’s parents', () => {
    const knot = tellStories({ ...one, parent: second }, two);
    expect(findBriefSource(knot)?.session).toBe(second);
    const idleKnot = tellStories(
      { ...idle, parent: third },
      { ...idle, session: third, parent: second },
      one,
    );
    expect(findBriefSource(idleKnot)?.session).toBe(first);
  });
});

describe('a brief that was handed over', () => {
  it.each<[what: string, stories: Story[], heir: string | null]>([
    ['is not, while nobody came', [one], null],
    ['is not, while who came did nothing', [one, idle], null],
    ['is, once who came worked', [one, two], second],
    ['is, through a session without progress', [one, idle, three], third],
    ['went to the next, not to the one after', [one, two, three], second],
    ['did not go to a stranger', [one, { ...three, parent: parseSessionId('sess-elsewhere') }], null],
  ])('%s', (_, stories, heir) => {
    expect(findSuccessor(tellStories(...stories), first)).toBe(heir);
  });
});

describe('something worth resuming', () => {
  const leave = (...said: [string, Fact][]) => tellStories({ session: first, number: 1, said });
  const done: [string, Fact] = ['18:00', { kind: 'session_completed', reason: null }];

  it.each<[what: string, said: [string, Fact][]]>([
    ['work that was not completed', [work('a')]],
    ['an open issue', [['09:00', facts.issue('i', 'x', 'open')], done]],
    ['a task in progress', [['09:00', facts.set('currentTask', { text: 'x', status: 'in_progress' })], done]],
    ['a blocker that stands', [['09:00', facts.blocker('b', 'x')], done]],
    ['a gate that broke', [['09:00', facts.gate('test', 'failed')], done]],
    [
      'an unfinished run',
      [
        [
          '09:00',
          {
            kind: 'run',
            run: 'r',
            plan: 'p',
            digest: 'd',
            status: 'running',
            session: first,
            from: null,
            startedAt: 0,
            endedAt: null,
          },
        ],
        done,
      ],
    ],
  ])('is %s', (_, said) => {
    expect(hasResumableContext(leave(...said))).toBe(true);
  });

  it('is not an empty epic, a session without progress, or work that is all done', () => {
    expect(hasResumableContext(emptyState)).toBe(false);
    expect(hasResumableContext(leave(['09:00', facts.paused()]))).toBe(false);
    const all = leave(
      ['09:00', facts.issue('i', 'x', 'done')],
      ['09:01', facts.blocker('b', 'x', momentOf('09:01'))],
      ['09:02', facts.gate('lint', 'failed', '', true)],
      ['09:03', facts.note('n', 'x')],
      done,
    );
    expect(hasResumableContext(all)).toBe(false);
  });
});
