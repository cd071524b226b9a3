import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runPlan } from '../../src/index.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makePlanned } from '../support/plans.ts';

const failing =
  'name: pipeline\ntasks: [{ id: a, run: "true" }, { id: b, run: "test -e ready || exit 1" }]\n';
const stopping = `name: pipeline
tasks:
  - { id: a, retry: { attempts: 1 }, effects: [{ id: send, run: "test -e ready || exit 75" }] }
`;

describe('the epic of a run', () => {
  it('is the name of the plan, whatever was used last', () => {
    const repository = makePlanned(failing);
    runOrch(repository, ['record', 'note', 'hello', '-e', 'other']);
    const ran = runOrch(repository, ['run', 'plan.yaml']);
    expect(ran.status).toBe(3);
    expect(ran.stderr).toMatch(
      /^epic pipeline \(named after this plan or spec; choose another with --epic\)\npipeline: run-\w+ on pipeline, /,
    );
  });

  it('is the one an unfinished run is on', () => {
    const repository = makePlanned(stopping);
    expect(runOrch(repository, ['run', 'plan.yaml', '-e', 'pipe']).status).toBe(75);
    const plain = runOrch(repository, ['run', 'plan.yaml']);
    expect(plain.status).toBe(75);
    const json = runOrch(repository, ['run', 'plan.yaml', '--json']);
    expect(JSON.parse(json.stdout).run).toMatchObject({ epicId: 'pipe', status: 'resume_needed' });
    expect(plain.stderr).toBe(
      'error: pipeline has an unfinished run on epic pipe\n       Continue it: --resume -e pipe. Start over on pipeline: --fresh.\n',
    );
    const wrong = runOrch(repository, ['run', 'plan.yaml', '--resume', '-e', 'other']);
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain('pipeline has an unfinished run on epic pipe: add -e pipe\n');
    repository.write('ready', '');
    const resumed = runOrch(repository, ['run', 'plan.yaml', '--resume']);
    expect(resumed.status).toBe(0);
    expect(resumed.stderr).toMatch(
      /^pipeline has an unfinished run on epic pipe\npipeline: run-\w+ on pipe, /,
    );
  });

  it('is found by --resume for a failed run too; one of another plan of that name is not meant', () => {
    const repository = makePlanned(failing);
    expect(runOrch(repository, ['run', 'plan.yaml', '-e', 'pipe']).status).toBe(3);
    repository.write('other.yaml', failing);
    expect(runOrch(repository, ['run', 'other.yaml', '--resume']).stderr).toContain(
      'there is no run of pipeline on pipeline to resume\n',
    );
    repository.write('ready', '');
    expect(runOrch(repository, ['run', 'plan.yaml', '--resume']).stderr).toMatch(/run-\w+ on pipe, /);
  });

  it('is the name of the plan for programs, too', async () => {
    const { folder: cwd } = makePlanned(failing.replace('test -e ready || exit 1', 'true'));
    expect(await runPlan(join(cwd, 'plan.yaml'), {}, { cwd })).toMatchObject({
      epicId: 'pipeline',
      status: 'succeeded',
    });
  });

  it('is asked for where several have an unfinished run', () => {
    const repository = makePlanned(stopping);
    for (const epic of ['one', 'two']) runOrch(repository, ['run', 'plan.yaml', '-e', epic]);
    const asked = runOrch(repository, ['run', 'plan.yaml', '--resume']);
    expect(asked.status).toBe(2);
    expect(asked.stderr).toContain('pipeline has unfinished runs on epics one, two\n');
  });
});

describe('--jobs', () => {
  it('runs tasks that name no files side by side; --dry-run says why others wait', () => {
    const wait = (mine: string, other: string) =>
      `touch ${mine}; i=0; while [ ! -e ${other} ]; do i=$((i+1)); [ $i -lt 300 ] || exit 1; sleep 0.05; done`;
    const repository = makePlanned(`name: p
tasks:
  - { id: a, name: Build it, run: "${wait('a.txt', 'b.txt')}" }
  - { id: b, needs: [], run: "${wait('b.txt', 'a.txt')}" }
  - { id: c, depends_on: [a], run: "true", files: [src/**] }
  - { id: d, needs: [], run: "true", files: [src/x] }
  - { id: e, run: "true" }
`);
    const dry = runOrch(repository, ['run', 'plan.yaml', '--jobs', '4', '--dry-run']);
    expect(
      dry.stdout.replace(/touch .*? done/g, 'WAIT').replace(/touch.*?exit 1; sleep 0.05;/g, ''),
    ).toContain('3/5   c  true  (after a)\n');
    expect(dry.stdout).toContain('  1/5   a  Build it  touch');
    expect(dry.stdout).toContain('  4/5   d  true  (not in parallel with c: both change src/x)\n');
    expect(dry.stdout).toContain(
      '  e: without needs, each waits for the task before it (to start at once: needs: [])\n',
    );
    const { plan } = orchJson<{ plan: { tasks: { id: string; waits: unknown[] }[] } }>(repository, [
      ...['run', 'plan.yaml', '--jobs', '4', '--dry-run'],
    ]);
    expect(plan.tasks.find(({ id }) => id === 'd')?.waits).toEqual([
      { task: 'c', because: 'files', files: ['src/x'] },
    ]);
    const ran = runOrch(repository, ['run', 'plan.yaml', '--jobs', '4']);
    expect(ran.status).toBe(0);
    expect(ran.stderr).toMatch(/1\/5 ✓ a +\d+s {2}Build it\n/);
  });

  it('refuses depends_on beside needs', () => {
    const repository = makePlanned(
      'tasks: [{ id: a, run: x }, { id: b, run: y, needs: [], depends_on: [a] }]\n',
    );
    const refused = runOrch(repository, ['run', 'plan.yaml']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('depends_on means the same as needs; allowed: one of them');
  });
});
