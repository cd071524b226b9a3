import fc from 'fast-check';
import { expect, it } from 'vitest';
import { commitOn, listTips, openTestQueue } from '../support/convoys.ts';
import { runs } from '../support/depth.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { writeConfig } from '../support/supervised.ts';

const kinds = fc.constantFrom('good', 'good', 'good', 'bad', 'clash', 'one', 'two');

/** What a task changes: `bad` is red, `one` and `two` are red together, those that clash conflict with each other. */
function changesOf(kind: string, task: string) {
  if (kind === 'clash') return { README: `${task}\n` };
  return { [kind === 'good' ? `${task}.txt` : `${kind}-${task}.txt`]: `${task}\n` };
}

const gate =
  'ls bad-* >/dev/null 2>&1 && exit 1; ls one-* >/dev/null 2>&1 && ls two-* >/dev/null 2>&1 && exit 1; exit 0';

it('C3, C5: with real merges, gates and cancelled tasks, the branch holds exactly what counts as merged, all of it green', async () => {
  const task = fc.record({
    kind: kinds,
    pause: fc.integer({ min: 0, max: 40 }),
    cancelAfter: fc.option(fc.integer({ min: 0, max: 400 }), { freq: 3 }),
  });
  const story = fc.record({
    tasks: fc.array(task, { minLength: 1, maxLength: 10 }),
    batch: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(story, async ({ tasks, batch }) => {
      const repository = makeRepositoryWithCommit();
      repository.git('config', 'core.logAllRefUpdates', 'always');
      writeConfig(repository, `gates: [{ name: check, run: ${JSON.stringify(gate)} }]\n`);
      const commits = tasks.map(({ kind }, n) =>
        commitOn(repository, `orch/auth/t${n}`, changesOf(kind, `t${n}`)),
      );
      const { merge } = await openTestQueue(repository, { batch });
      const requests = [];
      // When each comes and goes is part of the story; nothing is waited for.
      for (const [n, { pause, cancelAfter }] of tasks.entries()) {
        const cancel = new AbortController();
        if (cancelAfter !== null) setTimeout(() => cancel.abort(), cancelAfter);
        requests.push(merge(`t${n}`, commits[n] ?? {}, cancel.signal));
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
      const results = await Promise.all(requests);
      const landed = repository
        .git('log', '--first-parent', '--reverse', '--format=%s', 'main..orch/auth/merged')
        .split('\n')
        .filter(Boolean);
      const merged = results.flatMap(({ kind }, n) => (kind === 'merged' ? [`t${n}: t${n}`] : []));
      expect(landed).toEqual(merged);
      for (const [n, { kind, cancelAfter }] of tasks.entries()) {
        if (kind === 'good')
          expect(results[n]?.kind).toBeOneOf(cancelAfter === null ? ['merged'] : ['merged', 'stopped']);
        if (kind === 'bad') expect(results[n]?.kind).not.toBe('merged');
        if (cancelAfter === null) expect(results[n]?.kind).not.toBe('stopped');
      }
      for (const tip of listTips(repository)) {
        const files = repository.git('ls-tree', '--name-only', tip);
        expect(files).not.toContain('bad-');
        expect(files.includes('one-') && files.includes('two-')).toBe(false);
      }
      expect(repository.git('fsck', '--strict')).not.toContain('missing');
    }),
    { numRuns: runs(4) },
  );
});
