import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { type BisectResult, openOrch, saveCheckpoint } from '../../src/index.ts';
import { runOrch, startOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { lookAtFiles, lookAtGit } from '../support/restored.ts';

async function makeBroken(): Promise<TestRepository> {
  const repository = makeRepositoryWithCommit();
  const orch = await openOrch({ cwd: repository.folder });
  for (let step = 1; step <= 12; step++) {
    repository.write('step', `${step}\n`);
    if (step === 8) repository.write('broken', '');
    await saveCheckpoint({ epicId: 'x', reason: `step ${step}` }, orch);
  }
  orch.close();
  return repository;
}

const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

/** How many results are on disk. */
function countOutcomes(git: string): number {
  const kept = list(join(git, 'orchestration/bisect')).filter((name) => name.endsWith('.json'));
  const texts = kept.map((name) => readFileSync(join(git, 'orchestration/bisect', name), 'utf8'));
  return texts.join().split('"verdict"').length - 1;
}

const moments: readonly [name: string, hasCome: (git: string, beside: string) => boolean][] = [
  ['its worktree is noted', (git) => list(join(git, 'orchestration/worktrees')).length > 0],
  ['its folder is made', (_, beside) => existsSync(beside)],
  ['git knows its worktree', (git) => list(join(git, 'worktrees')).length > 0],
  [
    'its first files are there',
    (_, beside) => list(beside).some((name) => existsSync(join(beside, name, 'step'))),
  ],
  ['one result is kept', (git) => countOutcomes(git) >= 1],
  ['four results are kept', (git) => countOutcomes(git) >= 4],
  ['its worktree is gone again', (git, beside) => countOutcomes(git) >= 5 && list(beside).length === 0],
];

it.each(moments)(
  'a search that is killed when %s is completed by the next, which leaves nothing',
  async (_, hasCome) => {
    const repository = await makeBroken();
    const [git, beside] = [join(repository.folder, '.git'), `${repository.folder}.orch`];
    const look = () => [
      lookAtFiles(repository.folder),
      lookAtGit(repository),
      repository.git('for-each-ref'),
    ];
    const before = look();
    const line = ['--', 'sh', '-c', 'sleep 0.05; test ! -e broken'];
    const child = startOrch(repository, ['bisect', '-e', 'x', ...line]);
    let isOver = false;
    const ended = new Promise<void>((resolve) => {
      child.once('close', () => {
        isOver = true;
        resolve();
      });
    });
    await vi.waitFor(() => expect(isOver || hasCome(git, beside)).toBe(true), {
      timeout: 20_000,
      interval: 1,
    });
    child.kill('SIGKILL');
    await ended;
    const kept = countOutcomes(git);
    const ran = runOrch(repository, ['bisect', '-e', 'x', '--json', ...line]);
    const { bisect }: { bisect: BisectResult } = JSON.parse(ran.stdout);
    expect(bisect.firstBad.seq).toBe(8);
    expect(bisect.tries.filter(({ from }) => from === 'earlier run')).toHaveLength(kept);
    expect(existsSync(beside)).toBe(false);
    expect(list(join(git, 'orchestration/worktrees'))).toEqual([]);
    expect(list(join(git, 'worktrees'))).toEqual([]);
    expect(look()).toEqual(before);
  },
);
