import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { save } from '../support/checkpoints.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub } from '../support/remotes.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const approval = ['init', '-y', '--no-claude', '--no-codex'];
const trust = { env: { ORCH_TRUST: '1' } };

function writeConfig(repository: TestRepository, text: string): void {
  mkdirSync(join(repository.folder, '.orchestration'), { recursive: true });
  writeFileSync(join(repository.folder, '.orchestration', 'config.yaml'), text);
}

type Doctor = { checks: { name: string; status: string; evidence: string; fix: string | null }[] };

/** A clone whose config names another repository as the remote, and that repository, which has epic x. */
async function makeLured() {
  const hub = makeHub();
  const lure = makeHub();
  await save(lure, ['planted']);
  const clone = cloneOf(hub, 'clone');
  writeConfig(clone, `sync: { remote: '${lure.url}' }\n`);
  return { hub, lure, clone };
}

const epicsOf = (repository: TestRepository) =>
  repository.git('for-each-ref', '--format=%(refname)', 'refs/orchestration/epics');

describe('an agent in a session', () => {
  it('approves none of the repository’s settings, with or without its variables', () => {
    const repository = makeRepositoryWithCommit();
    const zero = 'prices: { m: { input: 0, output: 0 } }\n';
    writeConfig(repository, 'budget: 5\n');
    const agent = join(repository.home, 'agent');
    const call = `'${process.execPath}' '${orchBin}'`;
    const script = [
      '#!/bin/sh',
      `printf '${zero.replaceAll('\n', '\\n')}' > .orchestration/config.yaml`,
      `env -u ORCH_SESSION -u ORCH_EPIC ${call} ${approval.join(' ')}`,
      `env -u ORCH_SESSION ORCH_TRUST=1 ${call} sync -y`,
      'exit 0',
    ];
    writeFileSync(agent, `${script.join('\n')}\n`, { mode: 0o755 });
    expect(runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', agent]).status).toBe(0);
    const told = runOrch(repository, ['start', '-e', 'y', '--no-baseline', '--', 'true']);
    expect(told.stderr).toContain('prices in .orchestration/config.yaml is not used until you approve it');
  });
});

describe('a remote that only the config names', () => {
  it('is not asked for an unknown epic, approved or not', async () => {
    const { clone } = await makeLured();
    for (const options of [{}, trust]) {
      const ran = runOrch(clone, ['resume', '-e', 'x', '--', 'true'], options);
      expect(ran.status).toBe(1);
      expect(ran.stderr).toContain('no epic x');
      expect(clone.git('for-each-ref', 'refs/orchestration-local')).toBe('');
    }
  });

  it('gets nothing until the user agreed; git’s own remote does', async () => {
    const { hub, lure, clone } = await makeLured();
    await save(clone, ['mine']);
    const told = epicsOf(lure);
    const ran = runOrch(clone, ['sync', '-y']);
    expect(ran.status, ran.stderr).toBe(0);
    expect(ran.stderr).toContain(
      'sync.remote in .orchestration/config.yaml is not used until you approve it: orch init --no-claude --no-codex',
    );
    expect(epicsOf(hub)).toBe('refs/orchestration/epics/x');
    expect(lure.git('rev-list', '--all', '--count')).toBe('2');
    expect(epicsOf(lure)).toBe(told);
    expect(runOrch(clone, approval).stdout).toContain('approve  sync.remote: ');
    expect(orchJson<{ remote: string }>(clone, ['sync', '-y']).remote).toContain(lure.url);
    // A yes is to exactly that.
    writeConfig(clone, `sync: { remote: '${lure.url}/' }\n`);
    expect(orchJson<{ remote: string }>(clone, ['sync', '-y']).remote).toBe('origin');
  });

  it('counts with ORCH_TRUST=1, and where git has it by that name', async () => {
    const { lure, clone } = await makeLured();
    expect(orchJson<{ remote: string }>(clone, ['sync', '-y'], trust).remote).toContain(lure.url);
    writeConfig(clone, 'sync: { remote: backup }\n');
    clone.git('remote', 'add', 'backup', lure.url);
    const ran = runOrch(clone, ['sync', '-y', '--json']);
    expect(ran.stderr).not.toContain('approve');
    expect(JSON.parse(ran.stdout).remote).toBe('backup');
  });
});

describe('what else the user decides', () => {
  it('is orch’s default until then, is named by start and doctor, and no agent approves it', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'redact: { presets: false }\ncheckpoint: { stopGrace: 1h }\n');
    const notice = 'checkpoint.stopGrace, redact.presets in .orchestration/config.yaml is not used';
    expect(runOrch(repository, ['start', '-e', 'x', '--', 'true']).stderr).toContain(notice);
    const asked = (name: string) =>
      orchJson<Doctor>(repository, ['doctor']).checks.find((check) => check.name === name);
    expect(asked('config')).toMatchObject({ status: 'warn', fix: expect.stringContaining('orch init') });
    runOrch(repository, approval, { env: { CLAUDECODE: '1' } });
    expect(asked('config')).toMatchObject({ status: 'warn' });
    expect(runOrch(repository, ['start', '-e', 'x', '--', 'true'], trust).stderr).not.toContain(notice);
    expect(asked('config')).toMatchObject({ status: 'warn' });
    expect(runOrch(repository, approval).status).toBe(0);
    expect(asked('config')).toMatchObject({ status: 'ok' });
    expect(runOrch(repository, ['start', '-e', 'x', '--', 'true']).stderr).not.toContain(notice);
  });
});

describe.runIf(hasTmux)('asked on a terminal', () => {
  it.each([
    ['y', ['y', 'Enter'], 0, 0],
    ['n', ['n', 'Enter'], 0, 1],
    ['Ctrl+C', ['C-c'], 130, 1],
  ])('%s is the answer, and a yes is remembered', async (_, keys, status, waiting) => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'redact: { presets: false }\n');
    const script = `'${process.execPath}' '${orchBin}' start -e x -- true; echo "ended with $?"; exec cat`;
    const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const terminal = openTerminal(repository, 'sh', ['-c', script], env);
    await terminal.shows('Use these settings in this clone? [y/N]');
    terminal.press(...keys);
    await terminal.shows(`ended with ${status}`);
    const again = runOrch(repository, ['start', '-e', 'x', '--', 'true']).stderr;
    expect(again.split('is not used until you approve it').length - 1).toBe(waiting);
  });
});
