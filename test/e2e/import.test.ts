import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImportedPlan } from '../../src/index.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { isDeep } from '../support/depth.ts';
import { bead, dep, toLines } from '../support/issues.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const three = [
  bead('bd-1', { title: 'Add login' }),
  bead('bd-2', { title: 'Add logout', dependencies: [dep('bd-2', 'bd-1')] }),
  bead('bd-3', { status: 'closed' }),
];
const broken = [...three, bead('bd-4', { dependencies: [dep('bd-4', 'xx-9')] })];

function makeFolder(files: Record<string, string>): TestRepository {
  const repository = makeRepositoryWithCommit();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repository.folder, path)), { recursive: true });
    repository.write(path, text);
  }
  return repository;
}

describe('orch import', () => {
  it('prints the plan, and accounts for every issue on standard error', () => {
    const folder = makeFolder({ 'issues.jsonl': toLines(three) });
    const ran = runOrch(folder, ['import', 'beads', 'issues.jsonl']);
    expect(ran.status).toBe(0);
    expect(ran.stderr).toBe(
      'Read 3 issues from issues.jsonl\n  2 become tasks, 1 closed\n1 dependency\n  1 becomes needs\n',
    );
    expect(parsePlan(ran.stdout, 'p').tasks.map(({ id, needs }) => [id, needs])).toEqual([
      ['bd-1', []],
      ['bd-2', ['bd-1']],
    ]);
  });

  it('reads standard input, also outside of a repository', () => {
    const folder = makeFolder({});
    const ran = runOrch(folder, ['import', 'beads', '-'], { input: toLines(three), cwd: folder.home });
    expect([ran.status, ran.stdout.includes('id: bd-2')]).toEqual([0, true]);
    expect(runOrch(folder, ['import', 'gastown', '-']).stderr).toContain(
      'For one export, try: orch import beads -',
    );
  });

  it('writes a file, and replaces none unless told to', () => {
    const folder = makeFolder({ 'issues.jsonl': toLines(three) });
    const write = (...more: string[]) =>
      runOrch(folder, ['import', 'beads', 'issues.jsonl', '-o', 'plan.yaml', ...more]);
    expect(write()).toMatchObject({ status: 0, stdout: '' });
    const path = join(folder.folder, 'plan.yaml');
    const written = readFileSync(path, 'utf8');
    writeFileSync(path, 'mine\n');
    expect(write()).toMatchObject({ status: 2, stderr: expect.stringContaining('plan.yaml exists already') });
    expect(readFileSync(path, 'utf8')).toBe('mine\n');
    expect(write('--force').status).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(written);
    // It is a convoy's plan, and nothing was started.
    expect(runOrch(folder, ['convoy', 'show', 'plan.yaml', '-e', 'none'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no convoy has begun on none'),
    });
  });

  it('exits 3 and writes nothing if something would be lost; its hint accepts that', () => {
    const folder = makeFolder({ 'issues.jsonl': toLines(broken) });
    const command = ['import', 'beads', 'issues.jsonl', '-o', 'plan.yaml'];
    const refused = runOrch(folder, command);
    expect(refused).toMatchObject({ status: 3, stdout: '' });
    expect(refused.stderr).toContain('  bd-4 → xx-9 (blocks): xx-9 is not in the export\n');
    expect(refused.stderr).toContain('accept it: orch import beads issues.jsonl -o plan.yaml --allow-loss\n');
    expect(existsSync(join(folder.folder, 'plan.yaml'))).toBe(false);
    const allowed = runOrch(folder, [...command, '--allow-loss']);
    expect(allowed.status).toBe(0);
    expect(allowed.stderr).toContain('xx-9 is not in the export');
    expect(readFileSync(join(folder.folder, 'plan.yaml'), 'utf8')).toContain('# 1 thing had no place here');
  });

  it('prints one document with --json, in both cases', () => {
    const folder = makeFolder({ 'issues.jsonl': toLines(broken) });
    const refused = runOrch(folder, ['import', 'beads', 'issues.jsonl', '--json']);
    expect(refused.status).toBe(3);
    expect(errorOf(refused)).toMatchObject({ code: 'IMPORT_INCOMPLETE', data: { lost: [{ id: 'bd-4' }] } });
    expect(JSON.parse(refused.stdout)).toMatchObject({
      plan: null,
      report: { lost: [{ kind: 'dependency' }] },
    });
    const allowed = orchJson<ImportedPlan>(folder, ['import', 'beads', 'issues.jsonl', '--allow-loss']);
    expect(parsePlan(allowed.plan ?? '', 'p').tasks).toHaveLength(3);
    expect(allowed.dependencies).toEqual([{ task: 'bd-2', needs: 'bd-1', when: 'success' }]);
    expect(allowed.report.issues).toMatchObject({ read: 4, tasks: 3, closed: 1, lost: 0 });
  });

  it('shows no control character of a title', () => {
    const folder = makeFolder({
      'issues.jsonl': toLines([
        bead('bd-1\u001b[2J', { title: '\u001b]0;x\u0007t\u202e', dependencies: [dep('a', '\u001b[31m')] }),
      ]),
    });
    for (const more of [[], ['--allow-loss']]) {
      const { stdout, stderr } = runOrch(folder, ['import', 'beads', 'issues.jsonl', ...more]);
      expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    }
  });

  it.each<[typed: string[], message: string, hint: string]>([
    [['beads', 'no.jsonl'], 'there is no file no.jsonl', 'bd export --all > issues.jsonl'],
    [['beads', 'empty'], 'empty is not a folder of Beads', 'Name the folder that has .beads in it'],
    [
      ['gastown', 'dolt'],
      'dolt has a database, but no export',
      'Run there: bd export --all > .beads/issues.jsonl',
    ],
    [['github', 'issues.jsonl'], 'issues of Beads, not of GitHub', 'orch import beads FILE'],
    [['github', 'empty'], 'empty is a folder', 'gh issue list --state all'],
    [
      ['gastown', 'issues.jsonl', '--convoy', 'hq-cv-1'],
      'hq-cv-1 is not among the issues',
      'There are no open convoys',
    ],
    [
      ['beads', 'issues.jsonl', '-o', 'no/plan.yaml'],
      'there is no folder no',
      'Name a file in an existing folder',
    ],
  ])('%s is refused with a way out', (typed, message, hint) => {
    const folder = makeFolder({ 'issues.jsonl': toLines(three), 'empty/x': '', 'dolt/.beads/dolt/x': '' });
    const ran = runOrch(folder, ['import', ...typed]);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).toContain(hint);
  });
});

describe('a town', () => {
  const convoy = (id: string, title: string, ...members: string[]) =>
    bead(id, {
      title,
      issue_type: 'convoy',
      dependencies: members.map((member) => dep(id, member, 'tracks')),
    });
  const town = {
    'gt/.beads/issues.jsonl': toLines([
      convoy('hq-cv-1', 'Auth, first part', 'external:gt:gt-2', 'hq-1'),
      convoy('hq-cv-2', 'Other', 'gt-9'),
      bead('hq-1'),
    ]),
    'gt/.beads/routes.jsonl': toLines([
      { prefix: 'hq-', path: '.' },
      { prefix: 'gt-', path: 'shop/mayor/rig' },
      { prefix: 'up-', path: '../elsewhere' },
    ]),
    'gt/shop/mayor/rig/.beads/issues.jsonl': toLines([
      bead('gt-1'),
      bead('gt-2', { dependencies: [dep('gt-2', 'gt-1')] }),
      bead('gt-9'),
    ]),
    'elsewhere/.beads/issues.jsonl': toLines([bead('up-1')]),
  };

  it('is read with its rigs; convoys become labels, and what is outside its folder is not read', () => {
    const folder = makeFolder(town);
    const refused = runOrch(folder, ['import', 'gastown', 'gt']);
    expect(refused.status).toBe(3);
    expect(refused.stderr).toContain('the issues of elsewhere (up-…): it is outside of the folder');
    const { plan } = orchJson<ImportedPlan>(folder, ['import', 'gastown', 'gt', '--allow-loss']);
    const { tasks } = parsePlan(plan ?? '', 'p');
    expect(tasks.map(({ id, needs, convoy: { labels } }) => [id, needs, labels])).toEqual([
      ['hq-1', [], ['convoy:auth-first-part']],
      ['gt-1', [], []],
      ['gt-2', ['gt-1'], ['convoy:auth-first-part']],
      ['gt-9', [], ['convoy:other']],
    ]);
  });

  it('may be imported one convoy at a time, with what its members need', () => {
    const { plan, report } = orchJson<ImportedPlan>(makeFolder(town), [
      ...['import', 'gastown', 'gt', '--convoy', 'hq-cv-1'],
    ]);
    const { name, tasks } = parsePlan(plan ?? '', 'p');
    expect([name, tasks.map(({ id }) => id)]).toEqual(['Auth, first part', ['hq-1', 'gt-1', 'gt-2']]);
    expect(report.issues).toMatchObject({ read: 6, tasks: 3, grouping: 2, leftOut: 1 });
  });

  it('in a backup gets its dependencies back from the files beside it', () => {
    const folder = makeFolder({
      'gt/.beads/backup/issues.jsonl': toLines([bead('gt-1'), bead('gt-2')]),
      'gt/.beads/backup/dependencies.jsonl': toLines([dep('gt-2', 'gt-1')]),
      'gt/.beads/backup/labels.jsonl': toLines([{ issue_id: 'gt-1', label: 'ui' }]),
    });
    const { dependencies, plan } = orchJson<ImportedPlan>(folder, ['import', 'gastown', 'gt']);
    expect(dependencies).toEqual([{ task: 'gt-2', needs: 'gt-1', when: 'success' }]);
    expect(parsePlan(plan ?? '', 'p').tasks[0]?.convoy.labels).toEqual(['ui']);
  });
});

it('a city has its convoys as parents, and needs by reference', () => {
  const folder = makeFolder({
    'city/.gc/beads.json': JSON.stringify({
      seq: 4,
      beads: [
        bead('gc-1', { issue_type: 'convoy', title: 'deploy', metadata: { 'convoy.owner': 'mayor' } }),
        bead('gc-2', { parent: 'gc-1', ref: 'build' }),
        bead('gc-3', { parent: 'gc-1', needs: ['build'] }),
      ],
    }),
  });
  const { plan } = orchJson<ImportedPlan>(folder, ['import', 'gascity', 'city', '--convoy', 'gc-1']);
  const { tasks } = parsePlan(plan ?? '', 'p');
  expect(tasks.map(({ id, needs, convoy: { labels } }) => [id, needs, labels])).toEqual([
    ['gc-2', [], ['convoy:deploy']],
    ['gc-3', ['gc-2'], ['convoy:deploy']],
  ]);
});

it('a large tracker takes seconds', () => {
  const amount = isDeep ? 50_000 : 10_000;
  const issues = Array.from({ length: amount }, (_, index) =>
    bead(`bd-${index}`, {
      issue_type: index < 50 ? 'epic' : 'task',
      dependencies:
        index < 50
          ? index === 0
            ? []
            : [dep(`bd-${index}`, `bd-${index - 1}`)]
          : [dep(`bd-${index}`, `bd-${index % 50}`, 'parent-child')],
    }),
  );
  const folder = makeFolder({ 'issues.jsonl': toLines(issues) });
  const began = performance.now();
  const ran = runOrch(folder, ['import', 'beads', 'issues.jsonl', '-o', 'plan.yaml']);
  expect([ran.status, ran.stderr.includes(`${amount - 50} become tasks`)]).toEqual([0, true]);
  expect(performance.now() - began).toBeLessThan(60_000);
}, 120_000);
