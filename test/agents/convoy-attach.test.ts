import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readMerged } from '../support/convoys.ts';
import { orchBin } from '../support/orch.ts';
import { claudeProgram } from './support/claude.ts';
import {
  isFor,
  listSessions,
  showConvoy,
  spentOn,
  stageConvoy,
  startConvoy,
  taskOf,
} from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';
import { hasTmux, openTerminal } from './support/terminal.ts';
import { until } from './support/until.ts';

describe.skipIf(!claudeProgram || !hasTmux)('a person who joins a Claude Code in a convoy', () => {
  it('is in its conversation and its worktree, and it continues when they leave', async () => {
    const staged = await stageConvoy(
      `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1, args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
`,
      {
        claude: (folder) => [
          {
            words: 'write the first',
            tools: [bashTool('touch "$HOME/at-work"; sleep 60')],
            usage: { output_tokens: 1_000 },
          },
          {
            words: 'make it teal',
            tools: [writeTool(`${folder}/one`, 'colour.txt', 'teal\n')],
            usage: { output_tokens: 2_000 },
          },
          { words: 'make it teal', text: 'It is teal now.' },
          { words: 'Continue with your task where you were', tools: [bashTool('cat colour.txt > one.txt')] },
        ],
      },
    );
    const { repository, environment, worktrees } = staged;
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await until(() => existsSync(join(repository.home, 'at-work')), convoy.stdout);
    const projects = { [join(worktrees, 'one')]: { hasTrustDialogAccepted: true } };
    const answered = {
      ...{ hasCompletedOnboarding: true, theme: 'dark', bypassPermissionsModeAccepted: true },
      ...{ customApiKeyResponses: { approved: ['x'], rejected: [] }, projects },
    };
    writeFileSync(join(repository.home, '.claude.json'), JSON.stringify(answered));
    const terminal = openTerminal(repository, process.execPath, [orchBin, 'convoy', 'attach', 'one'], {
      ...environment,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
    });
    await terminal.shows('❯');
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ status: 'working' });
    await terminal.type('make it teal');
    await terminal.shows('It is teal now.');
    await terminal.type('/exit');
    await until(() => !terminal.runs(), terminal.screen);
    const ran = await convoy.ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(readMerged(repository, 'auth')).toMatchObject({ 'colour.txt': 'teal', 'one.txt': 'teal' });
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ status: 'done', attempts: 1 });
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'Continue with your task where'));
    for (const words of ['write the first file', 'make it teal', 'It is teal now.'])
      expect(JSON.stringify(last?.body.messages)).toContain(words);
    expect(listSessions(staged, 'one')).toHaveLength(3);
    expect(showConvoy(staged)?.budget.spentUsd).toBeCloseTo(spentOn(staged), 6);
  });

  it('gets a shell if its agent has no conversations, and how they leave it is no failure', async () => {
    const staged = await stageConvoy(
      `worker: { agent: 'sh -c "test -e hand.txt || { touch ../../at-work; sleep 60; }"', attempts: 1 }
tasks:
  - { id: one, prompt: write the first file }
`,
      {},
    );
    const { repository, environment, worktrees } = staged;
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await until(() => existsSync(join(worktrees, '..', 'at-work')), convoy.stdout);
    const env = { ...environment, SHELL: '/bin/sh', PS1: 'ready> ', TERM: 'xterm-256color' };
    const terminal = openTerminal(repository, process.execPath, [orchBin, 'convoy', 'attach', 'one'], env);
    await terminal.shows('ready>');
    await terminal.type('echo by hand > hand.txt; exit 3');
    await until(() => !terminal.runs(), terminal.screen);
    expect(await convoy.ended).toMatchObject({ status: 0 });
    expect(readMerged(repository, 'auth')['hand.txt']).toBe('by hand');
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ attempts: 1 });
  });
});
