import { describe, expect, it } from 'vitest';
import { type Candidate, estimateTries, nextStep, type Verdict } from '../../src/bisect/next-step.ts';
import { judgeEnd } from '../../src/bisect/try-command.ts';

const words: { readonly [letter: string]: Verdict } = { g: 'good', b: 'bad', s: 'skip' };

/** `G`: run; `g`: from the record; `.`: unknown. Each has a tree of its own, unless trees are given. */
function candidates(letters: string, trees = letters.replace(/./g, (_, at) => String.fromCharCode(97 + at))) {
  return [...letters].map((letter, index): Candidate => {
    const verdict = words[letter.toLowerCase()] ?? null;
    return { tree: trees[index] ?? '', verdict, isRun: verdict !== null && letter !== letter.toLowerCase() };
  });
}

const step = (letters: string, trees?: string) => nextStep(candidates(letters, trees));

describe('the next step of a search', () => {
  it('makes sure of both ends first: the bad one, then the good one', () => {
    expect(step('.....')).toEqual({ kind: 'try', index: 4 });
    expect(step('....B')).toEqual({ kind: 'try', index: 0 });
    expect(step('....G')).toEqual({ kind: 'wrong bound', index: 4, verdict: 'good' });
    expect(step('B...B')).toEqual({ kind: 'wrong bound', index: 0, verdict: 'bad' });
    expect(step('S...B')).toEqual({ kind: 'wrong bound', index: 0, verdict: 'skip' });
    expect(step('G...S')).toEqual({ kind: 'wrong bound', index: 4, verdict: 'skip' });
  });

  it('halves what is between them', () => {
    expect(step('G...B')).toEqual({ kind: 'try', index: 2 });
    expect(step('G.G.B')).toEqual({ kind: 'try', index: 3 });
    expect(step('G.B.B')).toEqual({ kind: 'try', index: 1 });
    expect(step('GGBBB')).toEqual({ kind: 'found', good: 1, bad: 2, between: [] });
  });

  it('tries the code of several checkpoints once', () => {
    expect(step('G...B', 'axxxb')).toEqual({ kind: 'try', index: 1 });
    expect(step('G.....B', 'axxxxyb')).toEqual({ kind: 'try', index: 1 });
  });

  it('goes around what cannot be judged, and names it if it may be the answer', () => {
    expect(step('G.S.B')).toEqual({ kind: 'try', index: 1 });
    expect(step('GGSSB')).toEqual({ kind: 'found', good: 1, bad: 4, between: [2, 3] });
    expect(step('GSGBB')).toEqual({ kind: 'found', good: 2, bad: 3, between: [] });
  });

  it('finds the newest place where good became bad', () => {
    expect(step('GBGB')).toEqual({ kind: 'found', good: 2, bad: 3, between: [] });
    expect(step('GB.GBB')).toEqual({ kind: 'found', good: 3, bad: 4, between: [] });
  });

  it('runs the good one before the others even if it is recorded: it may lack something here', () => {
    expect(step('g...b')).toEqual({ kind: 'try', index: 0 });
    expect(step('G...b')).toEqual({ kind: 'try', index: 2 });
  });

  it('takes both sides of the answer from the same source', () => {
    expect(step('gb')).toEqual({ kind: 'found', good: 0, bad: 1, between: [] });
    expect(step('Gb')).toEqual({ kind: 'try', index: 1 });
    expect(step('gB')).toEqual({ kind: 'try', index: 0 });
    expect(step('GgB')).toEqual({ kind: 'try', index: 1 });
  });

  it('is estimated', () => {
    expect(estimateTries(candidates('.......'))).toBe(5);
    expect(estimateTries(candidates('G.....B'))).toBe(3);
    expect(estimateTries(candidates('GGBB'))).toBe(0);
  });
});

describe('the end of a try', () => {
  const exited = (status: number) => judgeEnd({ how: 'exited', status }, 1_000);
  it.each<[number, Verdict]>([
    [0, 'good'],
    [1, 'bad'],
    [124, 'bad'],
    [125, 'skip'],
    [126, 'bad'],
    [127, 'bad'],
    [134, 'bad'], // a shell about a program that aborted
    [137, 'skip'], // a shell about a program that was killed
    [139, 'bad'],
    [143, 'skip'],
    [255, 'bad'],
  ])('with exit status %i is %s', (status, verdict) => {
    expect(exited(status).verdict).toBe(verdict);
  });

  it('by a signal is bad, unless the signal comes from outside', () => {
    const judge = (signal: NodeJS.Signals) => judgeEnd({ how: 'signalled', signal }, 1_000);
    expect(judge('SIGSEGV')).toEqual({ verdict: 'bad', why: 'ended by SIGSEGV' });
    expect(judge('SIGKILL')).toEqual({ verdict: 'skip', why: 'another program ended it (SIGKILL)' });
  });

  it('by a timeout is bad, and so is a missing program', () => {
    expect(judgeEnd({ how: 'timed_out', left: [] }, 300_000)).toEqual({
      verdict: 'bad',
      why: 'timed out after 5m',
    });
    const reason = './check: not found';
    expect(judgeEnd({ how: 'not_started', reason, isMissing: true }, 1_000).verdict).toBe('bad');
    expect(judgeEnd({ how: 'not_started', reason, isMissing: false }, 1_000).verdict).toBe('skip');
  });
});
