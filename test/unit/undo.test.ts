import { describe, expect, it } from 'vitest';
import { parseOid } from '../../src/ids.ts';
import {
  chooseUndo,
  findInterrupted,
  planRollback,
  type TouchedPath,
} from '../../src/restore/plan-restore.ts';

const restore = (name: string, isFinished: boolean, more = {}) => ({
  name,
  isFinished,
  undoes: null as string | null,
  ...more,
});
const complete = restore('complete', true);
const interrupted = restore('interrupted', false);
const rolledBack = restore('rolled back', false, { rolledBack: true });
const undo = restore('undo', true, { undoes: 'complete' });
const halfUndo = restore('half an undo', false, { undoes: 'complete' });

describe('what --undo undoes', () => {
  it.each([
    ['nothing, where nothing was restored', [], { kind: 'nothing' }],
    ['nothing, where all was rolled back', [rolledBack], { kind: 'nothing' }],
    ['the last restore', [restore('older', true), complete], { kind: 'before', of: complete }],
    ['an interrupted one', [complete, interrupted], { kind: 'before', of: interrupted }],
    [
      'the complete one below one that was rolled back',
      [complete, rolledBack],
      { kind: 'before', of: complete },
    ],
    ['an undo, which does it again', [complete, undo], { kind: 'before', of: undo }],
    ['what an interrupted undo was to undo', [complete, halfUndo], { kind: 'continue', undoes: 'complete' }],
    [
      'the restore, if its undo is being rolled back',
      [complete, rolledBack, rolledBack],
      { kind: 'before', of: complete },
    ],
  ])('is %s', (_, undos, choice) => {
    expect(chooseUndo(undos)).toEqual(choice);
  });

  it('only the newest can be interrupted', () => {
    expect(findInterrupted([complete, interrupted])).toBe(interrupted);
    expect(findInterrupted([interrupted, rolledBack])).toBe(interrupted); // its rollback was interrupted too
    expect(findInterrupted([interrupted, undo])).toBe(null);
    expect(findInterrupted([])).toBe(null);
  });
});

describe('the rollback of an interrupted restore', () => {
  const file = (digit: string) => ({ mode: '100644', oid: parseOid(digit.repeat(40)) });
  const touched = (path: string, more: Partial<TouchedPath>): TouchedPath => ({
    path,
    before: file('a'),
    wanted: [file('b')],
    present: file('a'),
    isCutShort: false,
    ...more,
  });
  const untouched = touched('untouched', {});
  const done = touched('done', { present: file('b') });
  const removed = touched('removed', { wanted: [null], present: null });
  const made = touched('made', { before: null, present: file('b') });
  const missing = touched('missing', { present: null });
  const half = touched('half', { present: file('c'), isCutShort: true });
  const edited = touched('edited', { present: file('d') });

  it('is for what the restore did, and leaves what changed since', () => {
    expect(planRollback([untouched, done, removed, made, missing, half, edited])).toEqual({
      kind: 'roll back',
      paths: ['done', 'removed', 'made', 'missing', 'half'],
      keep: ['edited'],
    });
  });

  it('is none where the restore had done everything', () => {
    expect(planRollback([done, removed, made])).toEqual({ kind: 'complete' });
    expect(planRollback([done, edited])).toEqual({ kind: 'complete' });
  });

  it('is empty where the restore had done nothing', () => {
    expect(planRollback([untouched])).toEqual({ kind: 'roll back', paths: [], keep: [] });
  });
});
