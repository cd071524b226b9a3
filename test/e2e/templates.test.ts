import { chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { readText } from '../support/checkpoints.ts';
import { type Behaviour, startEffectServer } from '../support/effect-server.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startSupervisor } from '../support/supervised.ts';

const plans = fileURLToPath(new URL('../../templates/plans', import.meta.url));

/** A repository with a package that can be tested and built, and the template. */
function stage(template: string): TestRepository {
  const repository = makeRepositoryWithCommit();
  const scripts = { test: 'node -e 0', build: 'mkdir -p dist && echo built > dist/app.js' };
  repository.write('package.json', JSON.stringify({ name: 'app', version: '1.0.0', scripts }));
  repository.write('.gitignore', 'dist\n');
  copyFileSync(join(plans, template), join(repository.folder, template));
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'a package');
  return repository;
}

it.each(readdirSync(plans))('%s can be read, and shows what it would do', (template) => {
  const repository = stage(template);
  const plan = parsePlan(readText(plans, template), template);
  expect(plan.name).toBe(template.replace('.yaml', ''));
  const env = { VERSION: '1.0.0', RELEASE_HOOK: 'http://127.0.0.1', RELEASE_TOKEN: 'x' };
  const ran = runOrch(repository, ['run', template, '--dry-run'], { env });
  expect(ran.status).toBe(0);
  for (const { id } of plan.tasks) expect(ran.stdout).toContain(id);
});

describe('the release template', () => {
  it('tags and announces once, though the server applies it and drops the connection for a while', async () => {
    const repository = stage('release.yaml');
    const origin = join(repository.home, 'origin.git');
    repository.git('init', '--quiet', '--bare', origin);
    repository.git('remote', 'add', 'origin', origin);
    let isUp = false;
    const server = await startEffectServer((): Behaviour => (isUp ? { status: 202 } : 'drops'));
    const env = {
      VERSION: '1.4.0',
      RELEASE_HOOK: `${server.url}/hook`,
      RELEASE_TOKEN: 'a-token-nobody-may-see',
    };
    // The pauses of the template are for the real world.
    const text = readText(repository.folder, 'release.yaml').replace('backoff: 2s', 'backoff: 1ms');
    repository.write('release.yaml', text);
    repository.git('commit', '--quiet', '--all', '--message', 'no pauses');

    const first = startSupervisor(repository, ['run', 'release.yaml', '--epic', 'r', '--json'], { env });
    expect(await first.ended).toBe(75);
    expect(JSON.parse(first.stdout())).toMatchObject({
      run: {
        status: 'resume_needed',
        effects: [
          { id: 'tag', status: 'acknowledged' },
          { id: 'announce', status: 'planned' },
        ],
      },
    });
    expect(first.stderr()).not.toContain('a-token');
    const head = repository.git('rev-parse', 'HEAD');
    expect(repository.git('--git-dir', origin, 'rev-parse', 'v1.4.0')).toBe(head);
    expect(repository.git('tag')).toBe('');

    isUp = true;
    const again = startSupervisor(repository, ['run', 'release.yaml', '--epic', 'r', '--resume', '--json'], {
      env,
    });
    expect(await again.ended).toBe(0);
    const { run } = JSON.parse(again.stdout());
    expect(run.status).toBe('succeeded');
    const keys = new Set(server.received.map(({ key }) => key));
    expect([...keys]).toEqual([run.effects[1].key]);
    expect(server.applied).toEqual(['/hook?version=1.4.0']);
    expect(server.received.at(-1)?.headers.authorization).toBe('Bearer a-token-nobody-may-see');

    const folder = `orchestration/epics/r:.orchestration/checkpoints/r/artifacts/${run.id}`;
    const final = JSON.parse(repository.git('show', `${folder}/writeback.json`));
    expect(final.effects.map(({ id }: { id: string }) => id)).toEqual(['tag', 'announce']);
    const everything = repository.git('log', '--patch', 'orchestration/epics/r');
    expect(everything).toContain('RELEASE_HOOK');
    expect(everything).not.toContain('a-token-nobody-may-see');
  });

  it('begins nothing without what it needs', () => {
    const repository = stage('release.yaml');
    const ran = runOrch(repository, ['run', 'release.yaml', '--epic', 'r'], { env: { VERSION: '1.0.0' } });
    expect(ran.status).toBe(2);
    expect(ran.stderr).toContain(
      'RELEASE_HOOK is not set in the environment; effect announce of publish needs it',
    );
    expect(repository.git('for-each-ref', 'refs/orchestration')).toBe('');
  });
});

describe('the agent template', () => {
  it('lets the agent plan, work, and fix only what fails', () => {
    const repository = stage('agent.yaml');
    const programs = join(repository.home, 'programs');
    mkdirSync(programs);
    // Only the plan's own shape is looked at here; the real agents have tests of their own.
    const lines = ['#!/bin/sh', 'echo "$2" >> said', 'case "$2" in *PLAN.md*) echo steps > PLAN.md;; esac'];
    writeFileSync(join(programs, 'claude'), `${lines.join('\n')}\n`);
    chmodSync(join(programs, 'claude'), 0o755);
    const env = { PATH: `${programs}:${process.env.PATH}` };
    const { run } = orchJson<{ run: { status: string; tasks: { id: string; status: string }[] } }>(
      repository,
      ['run', 'agent.yaml', '--epic', 'a'],
      { env },
    );
    expect(run.tasks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'plan succeeded',
      'work succeeded',
      'test succeeded',
      'fix skipped',
      'green succeeded',
    ]);
    expect(readText(repository.folder, 'said').split('\n').filter(Boolean)).toHaveLength(2);
  });
});
