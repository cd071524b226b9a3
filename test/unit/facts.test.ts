import { describe, expect, it } from 'vitest';
import { loadLatestCheckpoint, saveCheckpoint } from '../../src/index.ts';
import type { Fact } from '../../src/state/facts.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { cost } from '../support/store.ts';

const save = (cwd: string, facts: unknown[]) =>
  saveCheckpoint({ epicId: 'e', facts: facts as Fact[] }, { cwd });

describe('facts from a program', () => {
  it.each([
    ['an unknown kind', { kind: 'whim' }],
    ['no text', { kind: 'note', id: 'n' }],
    ['no id', { kind: 'note', id: '', text: 'x' }],
    [
      'a fraction of a micro-dollar',
      {
        kind: 'cost',
        model: null,
        usage: { micros: 0.5, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unpriced: 0 },
      },
    ],
    ['money that is taken back', cost(-1)],
    ['no number', cost(Number.NaN)],
    ['nothing', null],
    [
      'too much',
      { kind: 'current_set', key: 'k', value: Array.from({ length: 40 }, () => 'x'.repeat(4_000)) },
    ],
  ])('with %s are refused, and nothing is recorded', async (_, fact) => {
    const { folder } = makeRepositoryWithCommit();
    await expect(save(folder, [fact])).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('fact 1'),
    });
    expect(await loadLatestCheckpoint('e', { cwd: folder })).toBeNull();
    await save(folder, []);
    expect((await loadLatestCheckpoint('e', { cwd: folder }))?.document.events).toHaveLength(3);
  });

  it('of every kind are folded, their texts clean and bounded, whatever their keys', async () => {
    const { folder } = makeRepositoryWithCommit();
    const facts: Fact[] = [
      { kind: 'note', id: '__proto__', text: `a\u001b[31mb\r\n${'x'.repeat(9_000)}` },
      { kind: 'decision', id: 'constructor', text: 'd', rationale: null },
      { kind: 'blocker', id: 'b', text: 'b', resolvedAt: null },
      { kind: 'tried', id: 't', text: 't' },
      { kind: 'file', path: 'src/a.ts', change: 'modified', added: 3, removed: 1, priority: 1, why: null },
      { kind: 'issue', id: 'I-1', title: 't', status: 'done', severity: 'high', location: null },
      {
        kind: 'gate',
        name: 'test',
        status: 'passed',
        durationMs: 5,
        tree: null,
        output: 'ok',
        knownBefore: false,
      },
      { kind: 'budget_set', limit: 5_000_000 },
      { kind: 'current_set', key: 'currentTask', value: { id: 'T1' } },
      cost(250_000),
    ];
    const checkpoint = await save(folder, facts);
    expect(checkpoint).toMatchObject({ costUsd: 0.25, sessionNumber: 1 });
    const { state, events } = (await loadLatestCheckpoint('e', { cwd: folder }))?.document ?? {
      state: null,
      events: [],
    };
    expect(Object.keys(state?.notes ?? {})).toEqual(['__proto__']);
    const text = Object.values(state?.notes ?? {})[0]?.value.text ?? '';
    expect(text).toMatch(/^a\[31mb\nxxx/);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
    expect(state?.current).toMatchObject({
      budget: { value: 5_000_000 },
      currentTask: { value: { id: 'T1' } },
    });
    expect(state?.files['src/a.ts']?.value).toMatchObject({ added: 3, session: checkpoint.sessionId });
    expect(Object.values(state?.sessions ?? {})[0]?.value).toMatchObject({
      status: 'paused',
      checkpoints: 1,
      latestCheckpointId: checkpoint.id,
    });
    expect(events).toHaveLength(facts.length + 3);
  });
});
