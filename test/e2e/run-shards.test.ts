import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseWriterId } from '../../src/ids.ts';
import { runPlan, saveCheckpoint } from '../../src/index.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { realRandom } from '../../src/system/clock.ts';
import { loseObject } from '../support/damage.ts';
import { useOwnProcesses } from '../support/hosted.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makePlanned, type RunDocument, ranIn, readRan, statusesOf } from '../support/plans.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

useOwnProcesses(); // a task kills the process it runs under

const ref = 'refs/orchestration/epics/e';

/** A plan of so many tasks that say that they ran; the last one fails as long as a file is there. */
function makeWide(count: number): string {
  const tasks = Array.from(
    { length: count },
    (_, n) => `  - { id: t${n}, run: "echo t${n} >> $RAN", needs: [] }\n`,
  );
  const all = Array.from({ length: count }, (_, n) => `t${n}`).join(', ');
  return `name: wide\ntasks:\n${tasks.join('')}  - { id: last, run: "test ! -e stop && echo last >> $RAN", needs: [${all}] }\n`;
}

/** Runs a wide plan whose last task fails. */
function stopAtLast(count: number): { readonly repository: TestRepository; readonly run: string } {
  const repository = makePlanned(makeWide(count));
  repository.write('stop', '');
  const ran = runOrch(repository, ['run', 'plan.yaml', '--json', '--jobs', '4'], ranIn(repository));
  expect(ran.status).toBe(3);
  return { repository, run: (JSON.parse(ran.stdout) as RunDocument).run.id };
}

function listShards(repository: TestRepository, run: string): string[] {
  const names = repository.git('ls-tree', '-r', '--name-only', ref).split('\n');
  return names.filter((name) => name.includes(`/runs/${run}/`));
}

/** Replaces a file in the newest checkpoint, as another orch might have written it. */
function replaceFile(repository: TestRepository, path: string, text: string): void {
  const { folder, home } = repository;
  const env = cleanEnvironment(home, { GIT_INDEX_FILE: join(home, 'index') });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim();
  writeFileSync(join(home, 'content'), text);
  const blob = git('hash-object', '-w', join(home, 'content'));
  git('read-tree', ref);
  git('update-index', '--cacheinfo', `100644,${blob},${path}`);
  const message = git('log', '-1', '--format=%B', ref);
  const commit = repository.git('commit-tree', git('write-tree'), '-p', `${ref}~1`, '-m', message);
  repository.git('update-ref', ref, commit);
}

describe('a run of many tasks', () => {
  it('is resumed with the tasks that are left, and a checkpoint touches only the shards of its tasks', () => {
    const { repository, run } = stopAtLast(40);
    const shards = listShards(repository, run).filter((name) => name.includes('/tasks/'));
    expect(shards.length).toBeGreaterThan(8);
    expect(shards.every((name) => /\/tasks\/[0-9a-f]\.jsonl$/.test(name))).toBe(true);
    expect(runOrch(repository, ['run', '--list', '-e', 'e']).stdout).toMatch(/wide +failed +40 done/);
    rmSync(join(repository.folder, 'stop'));
    const resumed = orchJson<RunDocument>(
      repository,
      ['run', 'plan.yaml', '--resume', '--json'],
      ranIn(repository),
    );
    expect(resumed.run).toMatchObject({ id: run, status: 'succeeded' });
    expect(readRan(repository).filter((id) => id === 'last')).toHaveLength(1);
    expect(readRan(repository)).toHaveLength(41);
    const changed = repository.git('diff', '--name-only', `${ref}~2`, ref).split('\n');
    expect(changed.filter((name) => name.includes('/tasks/'))).toHaveLength(1);
    expect(runOrch(repository, ['checkpoint', 'verify', '-e', 'e']).status).toBe(0);
    repository.git('fsck', '--strict');
  });

  it('of which a shard is lost says so: only its tasks are unknown, and nothing is repeated', () => {
    const { repository, run } = stopAtLast(40);
    const [lost = ''] = listShards(repository, run).filter((name) => name.includes('/tasks/'));
    loseObject(repository, repository.git('rev-parse', `${ref}:${lost}`));
    const before = readRan(repository).length;
    const resumed = runOrch(repository, ['run', 'plan.yaml', '--resume', '--json'], ranIn(repository));
    expect(resumed.status).toBe(6);
    expect(errorOf(resumed)).toMatchObject({ code: 'INTEGRITY', hint: expect.stringContaining('--fresh') });
    expect(errorOf(resumed).message).toContain(lost.slice(lost.indexOf('runs/')));
    expect(readRan(repository)).toHaveLength(before);
    expect(runOrch(repository, ['checkpoint', 'verify', '-e', 'e']).status).toBe(6);
    // Everything else works as before.
    expect(runOrch(repository, ['run', '--list', '-e', 'e']).stdout).toMatch(/wide +failed +40 done/);
    expect(runOrch(repository, ['record', 'note', 'still here', '-e', 'e']).status).toBe(0);
    const fresh = runOrch(repository, ['run', 'plan.yaml', '--fresh', '--json'], ranIn(repository));
    expect(fresh.status).toBe(3);
  });

  it('whose head is lost is resumed all the same: it only repeats what the records say', () => {
    const { repository, run } = stopAtLast(3);
    const head = listShards(repository, run).find((name) => name.endsWith('head.json')) ?? '';
    loseObject(repository, repository.git('rev-parse', `${ref}:${head}`));
    expect(runOrch(repository, ['run', '--list', '-e', 'e']).stdout).toMatch(/wide +failed +3 done/);
    rmSync(join(repository.folder, 'stop'));
    const resumed = runOrch(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository));
    expect(resumed.status).toBe(0);
    expect(readRan(repository).toSorted()).toEqual(['last', 't0', 't1', 't2']);
    expect(runOrch(repository, ['run', '--list', '-e', 'e']).stdout).toMatch(/wide +succeeded +4 done/);
  });

  it('whose records come from a newer orch is refused, never half-read', () => {
    const { repository, run } = stopAtLast(3);
    const head = listShards(repository, run).find((name) => name.endsWith('head.json')) ?? '';
    const text = repository.git('show', `${ref}:${head}`);
    replaceFile(repository, head, text.replace('"format": 1', '"format": 3'));
    const resumed = runOrch(repository, ['run', 'plan.yaml', '--resume', '--json'], ranIn(repository));
    expect(resumed.status).toBe(6);
    expect(errorOf(resumed)).toMatchObject({ code: 'FORMAT_UNSUPPORTED' });
    expect(readRan(repository)).toHaveLength(3);
    expect(runOrch(repository, ['checkpoint', 'verify', '-e', 'e']).stdout).toContain(run);
  });
});

it('I5: the records of a run are the same objects, whichever engine writes them', async () => {
  const plan = parsePlan(
    `name: p
tasks:
  - { id: list, run: 'echo "{\\"ALL\\": [1, 2, 3]}"' }
  - { id: each, foreach: values.ALL, run: test $ORCH_ITEM != 2, may_fail: true }
  - { id: no, when: tasks.list.exit == 1, run: echo never, undo: "true" }
${Array.from({ length: 20 }, (_, n) => `  - { id: t${n}, run: "true", effects: [{ id: e${n}, run: "true" }] }`).join('\n')}
`,
    'p.yaml',
  );
  const recordWith = async (engine: 'native' | 'isomorphic') => {
    const repository = makeRepositoryWithCommit();
    const where = {
      cwd: repository.folder,
      engine,
      writer: parseWriterId('w-same'),
      clock: { now: () => 1_000 },
      // The keys of effects are made from the id of their run.
      random: { id: (length: number) => (length === 6 ? 'aaaaaa' : realRandom.id(length)) },
    };
    const { status } = await runPlan(plan, { epicId: 'e' }, where);
    const [folder = ''] = repository.git('ls-tree', `${ref}:.orchestration/checkpoints/e/runs`).split('\t');
    return { status, tree: folder.split(' ')[2] };
  };
  const native = await recordWith('native');
  expect(native).toEqual({ status: 'succeeded', tree: expect.stringMatching(/^[0-9a-f]{40}$/) });
  expect(await recordWith('isomorphic')).toEqual(native);
});

it('a run that has succeeded is described with the tasks it made of lists, also later', () => {
  const repository = makePlanned(`name: p
tasks:
  - { id: list, run: 'echo "{\\"ALL\\": [1, 2]}"' }
  - { id: each, foreach: values.ALL, run: "true" }
`);
  const run = (...args: string[]) =>
    orchJson<RunDocument>(repository, ['run', 'plan.yaml', '-e', 'e', ...args]);
  const ends = { list: 'succeeded', 'each[1]': 'succeeded', 'each[2]': 'succeeded', each: 'succeeded' };
  expect(statusesOf(run())).toEqual(ends);
  expect(statusesOf(run('--resume'))).toEqual(ends);
});

describe('a run whose plan changed while it was stopped', () => {
  it('repeats a task that needs a changed one, even if it is stopped again in between', () => {
    const plan = (first: string, second: string) =>
      `name: p\ntasks:\n  - { id: a, run: "echo ${first} >> $RAN" }\n  - { id: b, run: "${second} && echo b >> $RAN" }\n  - { id: c, run: "test ! -e stop" }\n`;
    const repository = makePlanned(plan('a1', 'true'));
    repository.write('stop', '');
    runOrch(repository, ['run', 'plan.yaml'], ranIn(repository));
    expect(readRan(repository)).toEqual(['a1', 'b']);
    // The changed task runs; what needs it has to run again, and is stopped before it does.
    repository.write('plan.yaml', plan('a2', 'kill -9 $PPID; true'));
    expect(runOrch(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository)).status).not.toBe(0);
    repository.write('plan.yaml', plan('a2', 'true'));
    rmSync(join(repository.folder, 'stop'));
    expect(runOrch(repository, ['run', 'plan.yaml', '--resume'], ranIn(repository)).status).toBe(0);
    expect(readRan(repository).filter((word) => word === 'a2')).toHaveLength(1);
    expect(readRan(repository).at(-1)).toBe('b');
  });
});

describe('a run that an older orch recorded inside the document', () => {
  it('is resumed after what it did', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder };
    const plan = parsePlan(
      'name: p\ntasks:\n  - { id: a, run: "false" }\n  - { id: b, run: "true" }\n',
      'plan.yaml',
    );
    const [a] = plan.tasks;
    const head = { plan: 'p', digest: plan.digest, session: 'sess-aaaa', from: null } as const;
    await saveCheckpoint(
      {
        epicId: 'e',
        facts: [
          {
            kind: 'run',
            run: 'run-aaaa',
            ...head,
            status: 'resume_needed',
            startedAt: 1,
            endedAt: null,
          } as never,
          {
            kind: 'task',
            run: 'run-aaaa',
            id: 'a',
            status: 'succeeded',
            attempts: 1,
            digest: a?.digest ?? '',
            artifacts: [],
          },
        ],
      },
      where,
    );
    const info = await runPlan(plan, { epicId: 'e', resume: true }, where);
    expect(info).toMatchObject({ id: 'run-aaaa', status: 'succeeded' });
    expect(statusesOf({ run: info } as RunDocument)).toEqual({ a: 'succeeded', b: 'succeeded' });
    expect(listShards(repository, 'run-aaaa')).toHaveLength(2);
  });

  it('a cleanup archives the records of a run that succeeded 30 days ago', () => {
    const repository = makePlanned('name: p\ntasks: [{ id: a, run: "true" }, { id: b, run: test -e ok }]\n');
    const run = (...args: string[]) => runOrch(repository, ['run', 'plan.yaml', '-e', 'e', ...args]);
    const later = { env: { ORCH_NOW: new Date(Date.now() + 31 * 86_400_000).toISOString() } };
    expect(run().status).toBe(3);
    const [listed] = orchJson<{ runs: { id: string }[] }>(repository, ['run', '--list', '-e', 'e']).runs;
    const id = listed?.id ?? '';
    repository.write('ok', '');
    expect(run('--resume').status).toBe(0);
    orchJson(repository, ['cleanup'], { env: { ORCH_NOW: new Date(Date.now() + 86_400_000).toISOString() } });
    expect(listShards(repository, id)).not.toEqual([]);
    const cleaned = orchJson<{ removed: { kind: string; name: string }[] }>(repository, ['cleanup'], later);
    expect(cleaned.removed).toContainEqual(expect.objectContaining({ kind: 'run' }));
    expect(listShards(repository, id)).toEqual([]);
    // The history has them, the run is still listed, and nothing is taken for not done.
    expect(repository.git('log', '--all', '--format=%H', '--', `*runs/${id}/*`)).not.toBe('');
    expect(runOrch(repository, ['run', '--list', '-e', 'e']).stdout).toContain('archived');
    const step = run('--resume-step', 'a');
    expect([step.status, step.stderr]).toEqual([6, expect.stringContaining('archived')]);
  });
});
