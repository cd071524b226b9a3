import { describe, expect, it } from 'vitest';
import { parseName } from '../../src/checkpoint/names.ts';
import { listCheckpoints, loadCheckpoint, saveCheckpoint } from '../../src/index.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { withOrch } from '../support/store.ts';

const now = Date.parse('2026-11-16T12:00:00Z');

describe('the name of a checkpoint', () => {
  it.each([
    ['58', { kind: 'number', seq: 58, text: '58' }],
    ['latest', { kind: 'latest', back: 0 }],
    ['latest~2', { kind: 'latest', back: 2 }],
    ['green', { kind: 'green' }],
    ['s7', { kind: 'session', number: 7 }],
    ['run-x7k2mf', { kind: 'run', run: 'run-x7k2mf' }],
    ['2h ago', { kind: 'before', at: now - 2 * 3_600_000 }],
    ['90 minutes ago', { kind: 'before', at: now - 90 * 60_000 }],
    ['1w ago', { kind: 'before', at: now - 7 * 86_400_000 }],
    ['ckpt-00000058', { kind: 'prefix', text: 'ckpt-00000058' }],
    ['k3f9qz', { kind: 'prefix', text: 'k3f9qz' }],
  ])('%s', (text, name) => {
    expect(parseName(text, now)).toEqual(name);
  });

  it.each(['', '-1', 'latest~', 'latest~-1', '../x', 'HEAD', 'k3', '2h', 'a;b', 'x'.repeat(80)])(
    'I9: %j is none',
    (text) => {
      expect(() => parseName(text, now)).toThrow(expect.objectContaining({ code: 'USAGE' }));
    },
  );
});

describe('finding a checkpoint', () => {
  it('works with every kind of name, and reports none or several matches', async () => {
    const { folder } = makeRepositoryWithCommit();
    let at = now - 5 * 3_600_000;
    await withOrch({ cwd: folder, clock: { now: () => at } }, async (orch) => {
      for (let index = 1; index <= 4; index++) {
        // Calls of one day share a session, unless different agents make them.
        await saveCheckpoint({ epicId: 'e', reason: `number ${index}`, agent: `agent ${index}` }, orch);
        at += 3_600_000;
      }
      at = now;
      const [newest, ...others] = await listCheckpoints('e', {}, orch);
      const seqOf = async (name: string) => (await loadCheckpoint('e', name, orch)).checkpoint.seq;
      expect(newest?.seq).toBe(4);
      expect(await seqOf('latest')).toBe(4);
      expect(await seqOf('latest~3')).toBe(1);
      expect(await seqOf('2')).toBe(2);
      expect(await seqOf('s3')).toBe(3);
      expect(await seqOf('3h ago')).toBe(3);
      expect(await seqOf('210m ago')).toBe(2);
      expect(await seqOf(others[0]?.id ?? '')).toBe(3);
      expect(await seqOf((others[1]?.id ?? '').split('-')[2] ?? '')).toBe(2);
      expect(await seqOf('ckpt-00000001')).toBe(1);
      for (const missing of ['5', 'latest~4', 's9', '6h ago', 'green', 'zzzzzz']) {
        await expect(seqOf(missing)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      }
      await expect(seqOf('ckpt-0000000')).rejects.toMatchObject({
        code: 'CHECKPOINT_AMBIGUOUS',
        data: { ids: expect.arrayContaining([newest?.id]) },
      });
    });
  });
});
