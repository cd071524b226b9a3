import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { batchStatus, completeBatch, nextBatch, startBatch } from '../../src/index.ts';
import { errorOf, orchJson, runOrch, startOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { shapeOf } from '../support/shapes.ts';
import {
  dependenciesYaml,
  makeSpecRepository,
  readSpecFile,
  specFolder,
  tasksYaml,
  writeSpec,
} from '../support/specs.ts';

type Next = { batch: { number: number; tasks: { id: string; file: string }[]; parallel: boolean } | null };
type Status = Next & {
  differs: { kind: string; message: string }[];
  tasks: { completed: { id: string }[] };
  fromGit?: { id: string; commit: string }[];
};

/** Does a task by its file, as an agent does it. */
function write(folder: string, path: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), `${path}\n`);
}

/** The same, completes it and commits it. */
function workOn(repository: TestRepository, id: string, path: string): void {
  write(repository.folder, path);
  expect(runOrch(repository, ['batch', 'complete', id, '--commit']).status).toBe(0);
}

const files = { T001: 'src/auth/user.py', T002: 'src/auth/auth.py', T003: 'src/auth/session.py' };
const last = { T004: 'src/auth/logout.py', T005: 'docs/auth.md' };

describe('orch batch', () => {
  it('says what is next and what waits, and changes nothing by it', () => {
    const repository = makeSpecRepository();
    const before = repository.git('status', '--porcelain');
    const ran = runOrch(repository, ['batch', 'next']);
    expect(ran).toEqual({
      status: 0,
      stdout: 'batch 1 of 4: T001 Add user model (src/auth/user.py)\n',
      stderr: 'When done: orch batch complete T001\n',
    });
    const next = orchJson<Next>(repository, ['batch', 'next']);
    expect(shapeOf(next)).toEqual({
      spec: { name: 'string', path: 'string' },
      total: 'number',
      batch: {
        number: 'number',
        tasks: [{ id: 'string', name: 'string', file: 'string', status: 'string' }],
        parallel: 'boolean',
        completed: [],
      },
      blocked: [{ id: 'string', name: 'string', waitsFor: ['string'] }],
      differs: [],
    });
    expect(runOrch(repository, ['batch']).stdout).toContain('T004 Add logout endpoint, waits for T003');
    expect(repository.git('status', '--porcelain')).toBe(before);
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('goes from the first batch to the last, with a checkpoint for each, a commit of its work, and one of the spec', () => {
    const repository = makeSpecRepository();
    for (const [id, path] of Object.entries(files)) workOn(repository, id, path);
    const both = runOrch(repository, ['batch', 'next']);
    expect(both.stdout).toBe(
      'batch 4 of 4: 2 tasks, in parallel\n  T004 Add logout endpoint (src/auth/logout.py)\n  T005 Write it down (docs/auth.md)\n',
    );
    workOn(repository, 'T005', last.T005);
    write(repository.folder, last.T004);
    expect(runOrch(repository, ['batch', 'next']).stdout).toBe(
      'batch 4 of 4, 1 of 2 done: T004 Add logout endpoint (src/auth/logout.py)\n',
    );
    expect(runOrch(repository, ['batch', 'complete', '--commit']).stdout).toContain(
      'auth-system is completed: all 4 batches',
    );
    expect(orchJson<Next>(repository, ['batch', 'next']).batch).toBeNull();
    const format = '--format=%s|%(trailers:separator=%x3B)';
    const subjects = repository.git('log', '--reverse', format, 'HEAD~10..').split('\n');
    expect(subjects.filter((_, index) => index % 2 === 0)).toEqual([
      'T001: Add user model|Tasks: T001;Batch: 1/4',
      'T002: Add authentication endpoint|Tasks: T002;Batch: 2/4',
      'T003: Add session management|Tasks: T003;Batch: 3/4',
      'T005: Write it down|Tasks: T005;Batch: 4/4',
      'T004: Add logout endpoint|Tasks: T004;Batch: 4/4',
    ]);
    expect(subjects[3]).toBe('Batch 2/4: T002|Batch: 2/4');
    const filesOf = (name: string) => repository.git('show', '--name-only', '--format=', name).split('\n');
    expect(filesOf('HEAD~7')).toEqual(['src/auth/auth.py']);
    expect(filesOf('HEAD~6')).toEqual([`${specFolder}/checkpoint.yaml`, `${specFolder}/tasks.yaml`]);
    // The evidence is the commit that did the task, and the task's own files.
    const tasks: { id: string; evidence: unknown }[] = parse(readSpecFile(repository, 'tasks.yaml')).tasks;
    expect(tasks.find(({ id }) => id === 'T002')?.evidence).toEqual({
      commits: [repository.git('rev-parse', 'HEAD~7').slice(0, 12)],
      files: [files.T002],
    });
    expect(repository.git('status', '--porcelain')).toBe('');
    const { checkpoints } = orchJson<{ checkpoints: { trigger: string; summary: string }[] }>(repository, [
      'checkpoint',
      'list',
    ]);
    expect(checkpoints.map(({ trigger, summary }) => `${trigger} ${summary}`)).toEqual([
      'batch Batch 4/4: T004 Add logout endpoint',
      'batch Batch 4/4: T005 Write it down',
      'batch Batch 3/4: T003 Add session management',
      'batch Batch 2/4: T002 Add authentication endpoint',
      'batch Batch 1/4: T001 Add user model',
    ]);
    // The checkpoint's own code has both files as the batch left them.
    const kept = repository.git(
      'show',
      `refs/orchestration/snapshots/auth-system/${sessionOf(repository)}:${specFolder}/checkpoint.yaml`,
    );
    expect(parse(kept).checkpoint.next_batch).toBeNull();
  });

  it('keeps comments and all else of tasks.yaml, and writes down what shows that a task is done', () => {
    const repository = makeSpecRepository();
    mkdirSync(join(repository.folder, 'src/auth'), { recursive: true });
    repository.write('src/auth/user.py', 'x');
    repository.write('unrelated', 'x');
    const ran = runOrch(repository, ['batch', 'complete', 'T001']);
    expect(ran.stdout).toContain("--trailer 'Tasks: T001' --trailer 'Batch: 1/4'");
    expect(ran.stderr).toContain('Not included (stage what belongs to it): unrelated');
    const head = repository.git('rev-parse', 'HEAD').slice(0, 12);
    const completed = tasksYaml
      .replace('status: pending # soon', 'status: completed # soon')
      .replace('files: []', 'files: ["src/auth/user.py"]');
    expect(readSpecFile(repository, 'tasks.yaml'), 'no commit did it yet').toBe(completed);
    expect(parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint).toMatchObject({
      spec_path: `./${specFolder}`,
      branch: 'feat/auth',
      last_batch: 1,
      last_commit: head,
    });
    // The commit by the line that was printed is found by its trailer, when the file is next written.
    const line = /^Commit it: {2}(.*)$/m.exec(ran.stdout)?.[1] ?? '';
    repository.git('-c', `alias.typed=!${line}`, 'typed');
    const commit = repository.git('rev-parse', 'HEAD').slice(0, 12);
    write(repository.folder, files.T002);
    expect(runOrch(repository, ['batch', 'complete', 'T002']).status).toBe(0);
    expect(readSpecFile(repository, 'tasks.yaml')).toContain(`commits: ["${commit}"]`);
  });

  it('names for each task its own commits and files, also where they were committed before', () => {
    const repository = makeSpecRepository();
    write(repository.folder, files.T001);
    write(repository.folder, 'unrelated.txt');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'the user model');
    const commit = repository.git('rev-parse', 'HEAD').slice(0, 12);
    write(repository.folder, 'later.txt');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'something else');
    expect(runOrch(repository, ['batch', 'complete']).status).toBe(0);
    expect(parse(readSpecFile(repository, 'tasks.yaml')).tasks[0].evidence).toEqual({
      commits: [commit],
      files: [files.T001],
    });
  });

  it('completes nothing for which nothing changed, unless told to', () => {
    const repository = makeSpecRepository();
    write(repository.folder, 'unrelated.txt');
    const refused = runOrch(repository, ['batch', 'complete']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain(
      'error: nothing changed for T001 (src/auth/user.py) since the spec was added\n       Nothing was completed. Do the work first. If no change is needed, add --anyway\n',
    );
    expect(readSpecFile(repository, 'tasks.yaml')).toBe(tasksYaml);
    expect(runOrch(repository, ['batch', 'complete', '--anyway']).status).toBe(0);
    for (const id of ['T002', 'T003'] as const) workOn(repository, id, files[id]);
    write(repository.folder, last.T005);
    const partly = runOrch(repository, ['batch', 'complete']);
    expect(partly.stderr).toContain(
      '▲ nothing changed for T004 (src/auth/logout.py); left open\n  If it is done, name it: orch batch complete T004 --anyway\n',
    );
    expect(partly.stdout).toContain('✓ T005 completed (batch 4 of 4)');
    expect(runOrch(repository, ['batch', 'next']).stdout).toContain('1 of 2 done: T004');
  });

  it('marks what is begun (batch start), in tasks.yaml, checkpoint.yaml and the epic', () => {
    const repository = makeSpecRepository();
    const begun = runOrch(repository, ['batch', 'start']);
    expect(begun.stdout).toBe(
      '● T001 in progress: tasks.yaml updated\nbatch 1 of 4: T001 Add user model (src/auth/user.py), in progress\n',
    );
    expect(begun.stderr).toBe(
      'epic auth-system (named after this plan or spec; choose another with --epic)\nWhen done: orch batch complete T001\n',
    );
    expect(readSpecFile(repository, 'tasks.yaml')).toBe(
      tasksYaml.replace('status: pending # soon', 'status: in_progress # soon'),
    );
    expect(orchJson(repository, ['batch', 'start'])).toMatchObject({ started: [], alreadyStarted: ['T001'] });
    workOn(repository, 'T001', files.T001);
    const early = runOrch(repository, ['batch', 'start', 'T003']);
    expect(early.status).toBe(2);
    expect(early.stderr).toContain('T003 depends on T002, which is not completed');
    expect(runOrch(repository, ['batch', 'start', 'T001']).stderr).toContain('already completed: T001');
    const before = parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint;
    expect(orchJson(repository, ['batch', 'start', 'T002'])).toMatchObject({ started: ['T002'] });
    const { checkpoint } = parse(readSpecFile(repository, 'checkpoint.yaml'));
    expect(checkpoint.tasks.in_progress).toEqual([{ id: 'T002', name: 'Add authentication endpoint' }]);
    expect(checkpoint.last_commit).toBe(before.last_commit);
    expect(runOrch(repository, ['brief', '-e', 'auth-system']).stdout).toContain('T002');
  });

  it('reads name and file of tasks.yaml, as checkpoint.yaml writes them', () => {
    const repository = makeSpecRepository();
    writeSpec(
      repository,
      'tasks:\n  - { id: T1, name: Add it, file: src/a.py }\n  - { id: T2, name: More, file: [src/b.py, src/c.py], depends_on: [T1] }\n',
      'phases: []\n',
    );
    const { batch } = orchJson<Next & { batch: { tasks: { name: string }[] } }>(repository, [
      'batch',
      'next',
    ]);
    expect(batch.tasks).toMatchObject([{ id: 'T1', name: 'Add it', file: 'src/a.py' }]);
  });

  it('says that the branch it started from has moved', () => {
    const repository = makeSpecRepository();
    repository.git('checkout', '--quiet', 'main');
    write(repository.folder, files.T001);
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'by others');
    repository.git('checkout', '--quiet', 'feat/auth');
    expect(runOrch(repository, ['batch', 'next']).stderr).toContain(
      '▲ main has 1 commit that this branch does not have, and src/auth/user.py of this batch changed\n  Bring them in: git merge main (or rebase)\n',
    );
    repository.git('merge', '--quiet', '--no-edit', 'main');
    expect(orchJson<Status>(repository, ['batch', 'status']).differs).toEqual([]);
  });

  it('titles name the batch of the tasks that were completed, not of those that wait to be committed', () => {
    const repository = makeSpecRepository();
    for (const id of ['T001', 'T002'] as const) {
      write(repository.folder, files[id]);
      expect(runOrch(repository, ['batch', 'complete', id]).status).toBe(0);
    }
    const { checkpoints } = orchJson<{ checkpoints: { summary: string }[] }>(repository, [
      'checkpoint',
      'list',
    ]);
    expect(checkpoints[0]?.summary).toBe('Batch 2/4: T002 Add authentication endpoint');
    const both = orchJson<{ commit: { line: string } }>(repository, ['batch', 'complete']);
    expect(both.commit.line).toContain("--trailer 'Tasks: T001, T002' --trailer 'Batch: 1-2/4'");
  });

  it('prints a commit line that a shell runs, from wherever it was typed', () => {
    const repository = makeSpecRepository();
    const folder = join(repository.folder, specFolder);
    write(repository.folder, files.T001);
    const { stdout } = runOrch(repository, ['batch', 'complete', 'T001'], { cwd: folder });
    const line = /^Commit it: {2}(.*)$/m.exec(stdout)?.[1] ?? '';
    // As git runs an alias: with a shell, in the folder it was typed in.
    repository.git('-c', `alias.typed=!cd '${folder}' && ${line}`, 'typed');
    expect(repository.git('log', '-1', '--format=%s|%(trailers:key=Tasks,valueonly)').trim()).toBe(
      'T001: Add user model|T001',
    );
  });

  it('refuses what cannot be completed now, and changes nothing', () => {
    const repository = makeSpecRepository();
    const refused = (...args: string[]) => {
      const ran = runOrch(repository, ['batch', 'complete', ...args, '--json']);
      expect(ran.stdout).toBe('');
      return { status: ran.status, ...errorOf(ran) };
    };
    expect(refused('T003')).toMatchObject({
      status: 2,
      message: 'T003 depends on T002, which is not completed',
    });
    expect(refused('--tasks', 'T001,T0010')).toMatchObject({ status: 2, hint: 'Did you mean T001?' });
    expect(refused('T001', '--spec', 'other')).toMatchObject({ status: 2, data: { specs: ['auth-system'] } });
    expect(refused('T001', '--deferred', 'none.yaml')).toMatchObject({ status: 2, code: 'USAGE' });
    writeFileSync(join(repository.folder, '.git', 'MERGE_HEAD'), `${repository.git('rev-parse', 'HEAD')}\n`);
    expect(refused('T001', '--commit')).toMatchObject({
      status: 1,
      message: expect.stringContaining('a merge is in progress'),
    });
    rmSync(join(repository.folder, '.git', 'MERGE_HEAD'));
    writeSpec(repository, tasksYaml.replace('status: pending # soon', 'status: soon'));
    expect(refused()).toMatchObject({
      status: 2,
      code: 'PLAN_INVALID',
      data: { file: `${specFolder}/tasks.yaml`, line: 6 },
    });
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });

  it('critical and high issues stand in the way; the others are carried from batch to batch until they are resolved', () => {
    const repository = makeSpecRepository();
    const review = join(repository.home, 'review.yaml');
    writeFileSync(review, '- {severity: high, description: SQL injection, location: "src/auth/user.py:3"}\n');
    const blocked = runOrch(repository, ['batch', 'complete', '--deferred', review]);
    expect(blocked.status).toBe(3);
    expect(blocked.stderr).toContain('high: SQL injection (src/auth/user.py:3)');
    expect(repository.git('status', '--porcelain')).toBe('');

    const issue = (...args: string[]) =>
      expect(runOrch(repository, ['record', 'issue', ...args, '-e', 'auth-system']).status).toBe(0);
    issue('R1', 'Broken', '--severity', 'critical');
    expect(runOrch(repository, ['batch', 'complete']).stderr).toContain('critical: R1 Broken');
    issue('R1', '--status', 'done');
    issue('R2', 'Slow', '--severity', 'low');
    write(repository.folder, files.T001);
    writeFileSync(
      review,
      '[{"severity": "medium", "description": "Naming", "location": "src/auth/auth.py:45"}]',
    );
    const first = runOrch(repository, ['batch', 'complete', '--deferred', review, '--commit']);
    expect(first.stdout).toContain('2 issues carried over');
    const carried = () => parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint.deferred_issues;
    const naming = { batch: 1, severity: 'medium', description: 'Naming', location: 'src/auth/auth.py:45' };
    expect(carried()).toEqual([naming, { batch: 1, severity: 'low', description: 'Slow', location: null }]);
    const shown = orchJson<{
      document: { state: { issues: Record<string, { value: { status: string; title: string } }> } };
    }>(repository, ['checkpoint', 'show']);
    const deferred = Object.values(shown.document.state.issues).filter(
      ({ value }) => value.status === 'deferred',
    );
    expect(deferred.map(({ value }) => value.title).sort()).toEqual(['Naming', 'Slow']);

    issue('R2', '--status', 'done');
    write(repository.folder, files.T002);
    expect(runOrch(repository, ['batch', 'complete', 'T002', '--deferred', review]).status).toBe(0);
    expect(carried()).toEqual([naming]);
  });

  it('where a hook refuses the commit of the work, nothing is completed; the same call does all of it', () => {
    const repository = makeSpecRepository();
    write(repository.folder, files.T001);
    const hook = join(repository.folder, '.git', 'hooks', 'pre-commit');
    mkdirSync(join(hook, '..'), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\necho lint says no >&2\nexit 1\n');
    chmodSync(hook, 0o755);
    const refused = runOrch(repository, ['batch', 'complete', '--commit']);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain('git commit failed: lint says no');
    expect(readSpecFile(repository, 'tasks.yaml')).toBe(tasksYaml);
    // One that refuses only the commit of the spec leaves the batch completed.
    writeFileSync(hook, '#!/bin/sh\ngit diff --cached --quiet -- specs\n');
    expect(runOrch(repository, ['batch', 'complete', '--commit']).status).toBe(1);
    rmSync(hook);
    expect(runOrch(repository, ['batch', 'complete', '--commit']).stdout).toMatch(
      /T001: already completed\n[\s\S]*committed [0-9a-f]{12}\n/,
    );
    expect(repository.git('log', '-1', '--format=%s')).toBe('T001: Add user model');
    expect(orchJson<Status>(repository, ['batch', 'status']).tasks.completed.map(({ id }) => id)).toEqual([
      'T001',
    ]);
  });

  it('commits what is staged already, also what was deleted or moved, and says what nobody named', () => {
    const repository = makeSpecRepository();
    mkdirSync(join(repository.folder, 'src/auth'), { recursive: true });
    for (const path of ['src/auth/user.py', 'src/auth/old.py', 'docs.txt'])
      repository.write(path, `${path}\n`);
    writeSpec(repository, undefined, dependenciesYaml.replace('file: src/auth/user.py', 'file: src/auth/'));
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'more');
    repository.git('rm', '--quiet', 'src/auth/old.py');
    repository.git('mv', 'src/auth/user.py', 'src/auth/person.py');
    repository.git('mv', 'docs.txt', 'guide.txt');
    const ran = runOrch(repository, ['batch', 'complete', '--commit']);
    expect(ran).toMatchObject({ status: 0 });
    expect(ran.stderr).toContain('Also included, because staged: docs.txt, guide.txt\n');
    const names = repository.git('show', '--no-renames', '--name-status', '--format=', 'HEAD~1').split('\n');
    expect(names.filter((line) => line.includes('src/auth/')).sort()).toEqual([
      'A\tsrc/auth/person.py',
      'D\tsrc/auth/old.py',
      'D\tsrc/auth/user.py',
    ]);
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  it('of a spec that git ignores, nothing waits to be committed', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('.gitignore', 'specs/\n');
    writeSpec(repository);
    const refused = runOrch(repository, ['batch', 'complete', '--commit', '-e', 'e']);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(`git ignores ${specFolder}, so it cannot be committed`);
    for (const id of ['T001', 'T002'] as const) {
      write(repository.folder, files[id]);
      const ran = runOrch(repository, ['batch', 'complete', '-e', 'e']);
      expect(ran.stdout).toContain(`✓ ${id} completed`);
      expect(ran.stdout).not.toContain('Commit it');
    }
  });

  it('takes no conflict for resolved: it is the user’s to end', () => {
    const repository = makeSpecRepository();
    mkdirSync(join(repository.folder, 'src/auth'), { recursive: true });
    const write = (text: string) => repository.write('src/auth/user.py', text);
    write('one\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'one');
    write('two\n');
    repository.git('stash', '--quiet');
    write('three\n');
    repository.git('commit', '--quiet', '--all', '--message', 'three');
    const head = repository.git('rev-parse', 'HEAD');
    // It fails as a stash does that conflicts.
    expect(() => repository.git('stash', 'pop')).toThrow();
    const refused = runOrch(repository, ['batch', 'complete', '--commit']);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain('unmerged files');
    expect(repository.git('rev-parse', 'HEAD')).toBe(head);
    expect(repository.git('ls-files', '--unmerged')).toContain('src/auth/user.py');
  });

  it('two calls at once complete one batch', async () => {
    const repository = makeSpecRepository();
    write(repository.folder, files.T001);
    const ended = [1, 2].map(() => {
      const child = startOrch(repository, ['batch', 'complete', '--json', '-e', 'e']);
      let stdout = '';
      child.stdout.on('data', (chunk) => {
        stdout += chunk;
      });
      return new Promise<{ completed: string[] }>((resolve) =>
        child.on('close', () => resolve(JSON.parse(stdout))),
      );
    });
    const completed = (await Promise.all(ended)).map((each) => each.completed);
    expect(completed.sort()).toEqual([[], ['T001']]);
    const { total } = orchJson<{ total: number }>(repository, ['checkpoint', 'list', '-e', 'e']);
    expect(total).toBe(1);
  });

  it('says what is not as it was after the last batch, and completes nothing over it unless told to', () => {
    const repository = makeSpecRepository();
    workOn(repository, 'T001', files.T001);
    const kinds = () => orchJson<Status>(repository, ['batch', 'status']).differs.map(({ kind }) => kind);
    expect(kinds()).toEqual([]);
    repository.write(files.T002, 'begun\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'begun');
    expect(runOrch(repository, ['batch', 'next']).stderr).toContain(
      '1 commit since the last batch, and src/auth/auth.py of this batch changed',
    );
    repository.git('checkout', '--quiet', '-b', 'other');
    expect(kinds()).toEqual(['branch', 'drift']);
    const elsewhere = runOrch(repository, ['batch', 'complete', 'T002', '-e', 'auth-system']);
    expect(elsewhere).toMatchObject({ status: 2, stderr: expect.stringContaining('git switch feat/auth') });
    repository.git('checkout', '--quiet', 'feat/auth');
    repository.git('reset', '--quiet', '--soft', 'HEAD~4');
    repository.git('commit', '--quiet', '--message', 'squashed');
    expect(kinds()).toEqual(['commit']);
    expect(runOrch(repository, ['batch', 'complete', 'T002']).status).toBe(2);
    expect(runOrch(repository, ['batch', 'complete', 'T002', '--anyway']).status).toBe(0);
    expect(kinds()).toEqual([]);
  });

  it('what somebody wrote into tasks.yaml counts, and is taken into checkpoint.yaml', () => {
    const repository = makeSpecRepository();
    workOn(repository, 'T001', files.T001);
    const text = readSpecFile(repository, 'tasks.yaml');
    repository.write(`${specFolder}/tasks.yaml`, text.replace('status: pending', 'status: done'));
    const ahead = orchJson<Status>(repository, ['batch', 'status']);
    expect(ahead.batch?.number).toBe(3);
    expect(ahead.differs).toMatchObject([
      { kind: 'tasks', message: 'completed in tasks.yaml but not in checkpoint.yaml: T002' },
    ]);
    expect(orchJson(repository, ['batch', 'complete'])).toMatchObject({
      completed: [],
      alreadyCompleted: ['T002'],
      differs: [],
    });
    expect(parse(readSpecFile(repository, 'checkpoint.yaml')).checkpoint.last_batch).toBe(2);
  });

  it('finds in the history what tasks.yaml does not know, and marks it there when told to', () => {
    const repository = makeSpecRepository();
    workOn(repository, 'T001', files.T001);
    workOn(repository, 'T002', files.T002);
    const commits = ['HEAD~3', 'HEAD~1'].map((name) => repository.git('rev-parse', name).slice(0, 12));
    workOn(repository, 'T003', files.T003);
    repository.git('revert', '--no-edit', 'HEAD~2..HEAD');
    // A commit of another spec has the same ids.
    writeSpec(repository, tasksYaml, undefined, 'specs/active/other');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'other', '--trailer', 'Tasks: T004');
    writeSpec(repository);
    const args = ['batch', 'status', '--spec', 'auth-system', '--from-git'];
    const found = [
      { id: 'T001', commit: commits[0] },
      { id: 'T002', commit: commits[1] },
    ];
    expect(orchJson<Status>(repository, args)).toMatchObject({ fromGit: found, tasks: { completed: [] } });
    expect(readSpecFile(repository, 'tasks.yaml')).toBe(tasksYaml);
    const written = orchJson<Status>(repository, [...args, '--write']);
    expect(written.fromGit).toEqual(found);
    expect(written.batch?.tasks.map(({ id }) => id)).toEqual(['T003']);
    expect(readSpecFile(repository, 'tasks.yaml')).toContain('status: completed # soon');
    expect(orchJson<Status>(repository, args).fromGit).toEqual([]);
  });

  it('stops with 4 when the money is gone, after all is written', () => {
    const repository = makeSpecRepository();
    runOrch(repository, ['cost', 'budget', '1', '-e', 'auth-system']);
    expect(runOrch(repository, ['record', 'cost', '2', '-e', 'auth-system']).status).toBe(4);
    write(repository.folder, files.T001);
    const ran = runOrch(repository, ['batch', 'complete', '--json']);
    expect(ran.status).toBe(4);
    expect(ran.stdout).toBe('');
    expect(errorOf(ran)).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      data: { completed: { completed: ['T001'] } },
    });
  });

  it('works in a worktree, without git, and before the first commit', () => {
    const repository = makeSpecRepository();
    const worktree = join(repository.home, 'worktree');
    repository.git('worktree', 'add', '--quiet', '-b', 'feat/two', worktree);
    write(worktree, files.T001);
    expect(runOrch(repository, ['batch', 'complete', 'T001', '--commit'], { cwd: worktree }).status).toBe(0);
    expect(repository.git('-C', worktree, 'log', '-1', '--skip=1', '--format=%s')).toBe(
      'T001: Add user model',
    );
    expect(readSpecFile(repository, 'tasks.yaml')).toBe(tasksYaml);
    const isomorphic = { env: { ORCH_ENGINE: 'isomorphic' } };
    const done = orchJson<{ commit: { line: string } }>(repository, ['batch', 'complete'], isomorphic);
    expect(done.commit.line).toContain(`git add -- ${specFolder}/tasks.yaml ${specFolder}/checkpoint.yaml`);
    repository.git('checkout', '--quiet', '--orphan', 'new');
    writeSpec(repository);
    rmSync(join(repository.folder, specFolder, 'checkpoint.yaml'));
    write(repository.folder, files.T001);
    expect(runOrch(repository, ['batch', 'complete', 'T001', '--commit']).status).toBe(0);
  });
});

function sessionOf(repository: TestRepository): string {
  const { checkpoint } = orchJson<{ checkpoint: { sessionId: string } }>(repository, ['checkpoint', 'show']);
  return checkpoint.sessionId;
}

it('the spec template is worked through from its first batch to its last', () => {
  const repository = makeRepositoryWithCommit();
  repository.git('checkout', '--quiet', '-b', 'greeting');
  const template = fileURLToPath(new URL('../../templates/spec', import.meta.url));
  cpSync(template, join(repository.folder, 'specs/active/greeting'), { recursive: true });
  mkdirSync(join(repository.folder, 'src'));
  const done: string[][] = [];
  for (;;) {
    const { batch } = orchJson<Next>(repository, ['batch', 'next']);
    if (batch === null) break;
    expect(batch.parallel).toBe(batch.tasks.length > 1);
    for (const { id, file } of batch.tasks) repository.write(file, `${id}\n`);
    const { commit } = orchJson<{ commit: { commands: string[][] } }>(repository, [
      'batch',
      'complete',
      ...batch.tasks.map(({ id }) => id),
    ]);
    for (const args of commit.commands) repository.git(...args);
    done.push(batch.tasks.map(({ id }) => id));
  }
  expect(done).toEqual([['T001'], ['T002', 'T003'], ['T004']]);
  expect(repository.git('status', '--porcelain')).toBe('');
});

it('a program does the same', async () => {
  const { folder: cwd } = makeSpecRepository();
  write(cwd, files.T001);
  expect(await startBatch({}, { cwd })).toMatchObject({ started: ['T001'], total: 4 });
  expect((await nextBatch({}, { cwd })).batch?.tasks.map(({ id }) => id)).toEqual(['T001']);
  const completed = await completeBatch({ tasks: ['T001'], epicId: 'auth' }, { cwd });
  expect(completed).toMatchObject({
    completed: ['T001'],
    next: { number: 2 },
    checkpoint: { trigger: 'batch' },
  });
  expect(await batchStatus({ spec: specFolder }, { cwd })).toMatchObject({ lastBatch: 1, total: 4 });
});
