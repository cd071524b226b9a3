import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { repositoryAt } from '../support/checkpoints.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';

/** What real bash offers for the last of these words. */
function complete(...words: string[]): string[] {
  return completeIn(makeFolder(), ...words);
}

function completeIn(cwd: string, ...words: string[]): string[] {
  const script = `source <('${process.execPath}' '${orchBin}' completion bash)
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orch; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', 'orch', ...words], {
    cwd,
    env: cleanEnvironment(makeFolder()),
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter((line) => line !== '');
}

describe('completion in bash', () => {
  it('offers commands, and the commands below them', () => {
    expect(complete('check')).toEqual(['checkpoint']);
    expect(complete('checkpoint', '')).toEqual(expect.arrayContaining(['create', 'list', 'show', 'verify']));
    expect(complete('checkpoint', 'cr')).toEqual(['create']);
    expect(complete('nothing', 'cr')).toEqual([]);
  });

  it('offers options where they can be used, behind others too', () => {
    expect(complete('--js')).toEqual(['--json']);
    expect(complete('checkpoint', 'create', '--')).toEqual(
      expect.arrayContaining(['--epic', '--reason', '--json']),
    );
    expect(complete('--json', 'checkpoint', 'list', '--l')).toEqual(['--limit']);
  });

  it('goes on behind the value of an option, and behind an argument', () => {
    expect(complete('-C', 'somewhere', 'check')).toEqual(['checkpoint']);
    expect(complete('checkpoint', 'create', '--epic', 'feat-login', '--rea')).toEqual(['--reason']);
    expect(complete('checkpoint', 'show', '58', '--ep')).toEqual(['--epic']);
  });

  it('offers the epics and checkpoints there are', () => {
    const repository = makeRepositoryWithCommit();
    for (const [epic, at] of [
      ['feat-login', '10'],
      ['docs', '11'],
      ['docs', '12'],
    ] as const)
      runOrch(repository, ['record', 'note', 'n', '-e', epic], {
        env: { ORCH_NOW: `2026-11-16T${at}:00:00Z` },
      });
    const offer = (...words: string[]) => completeIn(repository.folder, ...words);
    expect(offer('resume', '-e', '')).toEqual(['docs', 'feat-login']);
    expect(offer('log', 'f')).toEqual(['feat-login']);
    // Without an epic, those of the one that was saved last.
    expect(offer('restore', '').filter((word) => !word.startsWith('-'))).toEqual([
      '2',
      '1',
      'latest',
      'green',
    ]);
    expect(offer('checkpoint', 'show', '--epic', 'feat-login', '')).not.toContain('2');
    expect(offer('checkpoint', 'show', '-e', 'feat-login', '')).toContain('1');
    expect(offer('resume', '--checkpoint', '')).toEqual(['2', '1', 'latest', 'green']);
    expect(offer('diff', 'la')).toEqual(['latest']);
  });

  it('says which shells there are', () => {
    expect(complete('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  });
});

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('for %s knows every command, and needs no repository', (shell) => {
    const home = makeFolder();
    const { status, stdout, stderr } = runOrch(repositoryAt(home, home), ['completion', shell]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const word of [
      'checkpoint',
      'create',
      'list',
      'show',
      'verify',
      'completion',
      'epic',
      'reason',
      'json',
    ])
      expect(stdout).toContain(word);
  });

  it('for zsh is bash syntax behind its own switch for it', () => {
    const home = makeFolder();
    const [first = '', ...rest] = runOrch(repositoryAt(home, home), ['completion', 'zsh']).stdout.split('\n');
    expect(first).toContain('bashcompinit');
    expect(spawnSync('bash', ['-n'], { input: rest.join('\n') }).status).toBe(0);
  });
});
