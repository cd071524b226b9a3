import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterTest } from '../../support/cleanup.ts';
import type { TestRepository } from '../../support/repository.ts';
import { type ClaudeOptions, claudeArguments, claudeEnvironment, claudeProgram } from './claude.ts';
import { endGroup, isAlive } from './ran.ts';
import { until } from './until.ts';

/** Whether there is a terminal for the interactive tests. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0;

export type Terminal = {
  /** What is on the screen now. */
  screen(): string;
  /** Types a line and sends it off. */
  type(line: string): Promise<void>;
  /** Presses keys by tmux's names: `Escape`, `C-c`. */
  press(...keys: string[]): void;
  /** Waits until a text is on the screen. */
  shows(text: string | RegExp): Promise<void>;
  /** Whether the program still runs. */
  runs(): boolean;
  readonly pid: number;
};

/** Starts Claude Code in a terminal, ready for its first prompt. */
export async function openClaude(repository: TestRepository, options: ClaudeOptions): Promise<Terminal> {
  answerFirstQuestions(repository);
  const env = { ...claudeEnvironment(repository, options), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  const terminal = openTerminal(repository, claudeProgram ?? 'claude', claudeArguments(options), env);
  await terminal.shows('❯');
  return terminal;
}

/** What a user answers once, on the first start: the theme, the key, and that the folder is trusted. */
function answerFirstQuestions({ home, folder }: TestRepository): void {
  const answers = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['x'], rejected: [] },
    projects: { [folder]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  writeFileSync(join(home, '.claude.json'), JSON.stringify(answers));
}

/** Runs a program in a terminal of its own, on a private socket, until the test's end. */
export function openTerminal(
  repository: TestRepository,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Terminal {
  const socket = join(repository.home, 'tmux.sock');
  const tmux = (...words: string[]) =>
    execFileSync('tmux', ['-S', socket, ...words], { env, encoding: 'utf8', stdio: 'pipe' });
  const options = ['-f', '/dev/null', 'new-session', '-d', '-x', '200', '-y', '60', '-c', repository.folder];
  tmux(...options, '-P', '-F', '#{pane_pid}', program, ...args);
  const pid = Number(tmux('display-message', '-p', '#{pane_pid}'));
  afterTest(async () => {
    endGroup(pid);
    spawnSync('tmux', ['-S', socket, 'kill-server']);
    // It writes to its folder to the last: that must not be taken away under it.
    await until(
      () => !isAlive(pid),
      () => `the end of ${pid}`,
    );
  });
  const screen = () => tmux('capture-pane', '-p');
  const runs = () => spawnSync('tmux', ['-S', socket, 'has-session'], { env }).status === 0;
  const shows = (text: string | RegExp) =>
    until(
      () => (typeof text === 'string' ? screen().includes(text) : text.test(screen())),
      () => `${text} is not on the screen:\n${runs() ? screen() : '(it has ended)'}`,
    );
  return {
    pid,
    screen,
    shows,
    runs,
    press: (...keys) => void tmux('send-keys', ...keys),
    async type(line) {
      tmux('send-keys', '-l', line);
      // Sent off before it is on the screen, the line would be taken for a paste with a line break in it.
      await shows(line);
      tmux('send-keys', 'Enter');
    },
  };
}
