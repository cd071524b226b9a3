import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

/* Claude Code tells its hooks the folder its last command went to; the one it began in is in their environment. */

function makeWalker(repository: TestRepository) {
  const agent = makeAgent(repository, 'agent-1', {
    ORCH_EPIC: 'x',
    CLAUDE_PROJECT_DIR: repository.folder,
  });
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt: 'Begin' });
  return agent;
}

function wroteFile(file_path: string) {
  return { tool_name: 'Write', tool_input: { file_path, content: '' }, tool_response: { type: 'create' } };
}

function filesOf(repository: TestRepository): string[] {
  runOrch(repository, ['checkpoint', 'create', '-e', 'x']);
  const shown = orchJson<{ document: { state: { files: object } } }>(repository, [
    'checkpoint',
    'show',
    '-e',
    'x',
  ]);
  return Object.keys(shown.document.state.files);
}

const spentOn = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number } }>(repository, ['session', 'status', '-e', 'x']).budget.spentUsd;

it('an agent that went into a folder names files as git does, and none outside of the repository', () => {
  const repository = makeRepositoryWithCommit();
  const { folder, home } = repository;
  mkdirSync(join(folder, 'src', 'deep'), { recursive: true });
  symlinkSync(folder, join(home, 'link'));
  const { call } = makeWalker(repository);
  const cwd = join(folder, 'src', 'deep');
  call('PostToolUse', { cwd, ...wroteFile(join(cwd, 'a.ts')) });
  call('PostToolUse', { cwd, ...wroteFile(join(folder, 'b.ts')) });
  call('PostToolUse', { cwd, ...wroteFile(join(home, 'link', 'src', 'c.ts')) });
  call('PostToolUse', { cwd, ...wroteFile(join(folder, '..d.ts')) });
  call('PostToolUse', { cwd, ...wroteFile(join(home, 'secret.ts')) });
  call('PostToolUse', { cwd, ...wroteFile(folder) });
  const patch = '*** Begin Patch\n*** Add File: e.ts\n*** Delete File: ../../../f.ts\n*** End Patch';
  call('PostToolUse', { cwd, tool_name: 'apply_patch', tool_input: { input: patch }, tool_response: {} });
  expect(filesOf(repository).sort()).toEqual(
    ['..d.ts', 'b.ts', 'src/c.ts', 'src/deep/a.ts', 'src/deep/e.ts'].sort(),
  );
});

it('an agent that went out of the repository, or into another one, still works in its session', () => {
  const repository = makeRepositoryWithCommit();
  runOrch(repository, ['cost', 'budget', '2', '-e', 'x']);
  const { call, spend } = makeWalker(repository);
  const nested = join(repository.folder, 'nested');
  repository.git('init', '--quiet', nested);
  spend(100_000);
  call('PostToolUse', { cwd: nested, ...wroteFile(join(repository.folder, 'a.ts')) });
  expect(spentOn(repository)).toBe(1.5);
  expect(runOrch(repository, ['status', '--json'], { cwd: nested }).stdout).toContain('"epics":[]');
  spend(100_000);
  expect(call('PreToolUse', { cwd: repository.home, tool_name: 'Bash', tool_input: {} })).toMatchObject({
    continue: false,
    hookSpecificOutput: { permissionDecision: 'deny' },
  });
  const workspace = { current_dir: repository.home, project_dir: repository.folder };
  const line = runOrch(repository, ['statusline'], {
    input: JSON.stringify({ session_id: 'agent-1', workspace }),
  });
  expect(line.stdout).toContain('$3.00');
});

it('an agent that went into a linked worktree is in the branch of that one', () => {
  const repository = makeRepositoryWithCommit();
  const linked = join(repository.home, 'linked');
  repository.git('worktree', 'add', '--quiet', '-b', 'feat/b', linked);
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call } = makeAgent(repository, 'agent-1', { CLAUDE_PROJECT_DIR: repository.folder });
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  call('UserPromptSubmit', { cwd: linked, prompt: 'Go on there' });
  writeFileSync(join(linked, 'a.ts'), '');
  call('PostToolUse', { cwd: linked, ...wroteFile(join(linked, 'a.ts')) });
  const { epics } = orchJson<{ epics: { epicId: string }[] }>(repository, ['status']);
  expect(epics.map(({ epicId }) => epicId).sort()).toEqual(['feat-a', 'feat-b']);
});

const epicsOf = (repository: TestRepository) =>
  orchJson<{ epics: { epicId: string }[] }>(repository, ['status']).epics.map(({ epicId }) => epicId);

it('an agent is in the branch that is being rebased or bisected', () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  repository.git('commit', '--quiet', '--allow-empty', '--message', 'second');
  const { call } = makeAgent(repository, 'agent-1');
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  // The rebase stops where its command fails.
  expect(repository.tryGit('rebase', '--force-rebase', '--exec', 'false', 'HEAD~1').status).not.toBe(0);
  expect(repository.tryGit('symbolic-ref', '--quiet', 'HEAD').status).not.toBe(0);
  call('UserPromptSubmit', { prompt: 'Mend the conflict' });
  const second = makeAgent(repository, 'agent-2');
  second.call('SessionStart', { source: 'startup' });
  second.call('UserPromptSubmit', { prompt: 'Help with the conflict' });
  repository.git('rebase', '--abort');
  repository.git('bisect', 'start', 'HEAD', 'HEAD~1');
  repository.git('checkout', '--quiet', '--detach', 'HEAD~1');
  const third = makeAgent(repository, 'agent-3');
  third.call('SessionStart', { source: 'startup' });
  third.call('UserPromptSubmit', { prompt: 'Which one broke it?' });
  expect(epicsOf(repository)).toEqual(['feat-a']);
});

it('an agent stays in its epic while HEAD is on no branch', () => {
  const repository = makeRepositoryWithCommit();
  repository.git('switch', '--quiet', '--create', 'feat/a');
  const { call } = makeAgent(repository, 'agent-1');
  call('SessionStart', { source: 'startup' });
  call('UserPromptSubmit', { prompt: 'Begin' });
  repository.git('checkout', '--quiet', '--detach');
  call('UserPromptSubmit', { prompt: 'What was it like then?' });
  expect(epicsOf(repository)).toEqual(['feat-a']);
  repository.git('switch', '--quiet', '--create', 'feat/b');
  call('UserPromptSubmit', { prompt: 'Something else' });
  expect(epicsOf(repository).sort()).toEqual(['feat-a', 'feat-b']);
});
