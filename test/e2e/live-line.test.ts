import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { runOrch } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import {
  callOrch,
  isAlive,
  liveFiles,
  statusOf,
  triggersOf,
  waitUntil,
  writeConfig,
  writeScript,
} from '../support/supervised.ts';

const hasTmux = spawnSync('tmux', ['-V']).status === 0;
const open: (() => void)[] = [];

afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A terminal with a shell in a repository. */
function openTerminal(repository: TestRepository, columns: number) {
  const socket = join(repository.home, 'tmux');
  const settings = join(repository.home, 'tmux.conf');
  writeFileSync(settings, 'set -g default-terminal screen-256color\n');
  const env = cleanEnvironment(repository.home, {
    HISTFILE: '/dev/null',
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
    PS1: '$ ',
    TERM: 'xterm-256color',
  });
  const tmux = (...args: string[]) => {
    const ran = spawnSync('tmux', ['-u', '-S', socket, '-f', settings, ...args], { env, encoding: 'utf8' });
    if (ran.status !== 0) throw new Error(`tmux ${args.join(' ')}: ${ran.stderr}`);
    return ran.stdout;
  };
  tmux(
    'new-session',
    '-d',
    '-x',
    String(columns),
    '-y',
    '20',
    '-c',
    repository.folder,
    'exec bash --norc --noprofile',
  );
  open.push(() => spawnSync('tmux', ['-S', socket, 'kill-server'], { env }));
  return {
    type: (text: string) => tmux('send-keys', text, 'Enter'),
    interrupt: () => tmux('send-keys', 'C-c'),
    resize: (width: number) => tmux('resize-window', '-x', String(width), '-y', '20'),
    /** All lines, also those that scrolled away, joined where they were broken by the width. */
    lines: () =>
      tmux('capture-pane', '-p', '-S', '-', '-J')
        .split('\n')
        .map((line) => line.trimEnd()),
    /** What is seen, row by row. */
    rows: () =>
      tmux('capture-pane', '-p')
        .split('\n')
        .map((line) => line.trimEnd()),
    close: () => tmux('kill-server'),
  };
}

const isLive = (line: string) => line.startsWith('● ');

describe.runIf(hasTmux)('the live line', () => {
  it('is one line at any width, and leaves nothing behind', async () => {
    const repository = makeRepositoryWithCommit();
    const terminal = openTerminal(repository, 120);
    terminal.type(callOrch('start -e migrate -b 20'));
    const shown = (pattern: RegExp) =>
      vi.waitFor(() => expect(terminal.rows()).toContainEqual(expect.stringMatching(pattern)), {
        timeout: 10_000,
        interval: 50,
      });
    await shown(
      /^● migrate s1 {2}\d+s {2}\$0\.00\/\$20\.00 ░{7} 0% {2}next 14m\d\ds {2}last ckpt 1 session_start \d+s ago {2}Ctrl\+C pauses$/,
    );
    terminal.resize(80);
    await shown(/^● migrate s1 .* next 14m\d\ds {2}ckpt 1 \d+s ago$/);
    expect(runOrch(repository, ['record', 'cost', '17']).status).toBe(0);
    await shown(/^● .*\$17\.00\/\$20\.00 █{5}░░ 85%/);
    for (const [width, pattern] of [
      [50, /^● migrate s1 {2}\d+s {2}\$17\.00\/\$20\.00 {2}ckpt 2 \d+s ago$/],
      [120, /^● migrate s1 .*Ctrl\+C pauses$/],
      [80, /^● migrate s1 .* next 14m\d\ds {2}ckpt 2 \d+s ago$/],
      [40, /^● migrate s1 {2}\d+s {2}\$17\.00\/\$20\.00$/],
      [20, /^● migrate s1 .*…$/],
      [80, /^● migrate s1 .* next 14m\d\ds {2}ckpt 2 \d+s ago$/],
    ] as const) {
      terminal.resize(width);
      await shown(pattern);
      expect(terminal.lines().filter(isLive)).toHaveLength(1);
    }
    expect(terminal.lines().filter((line) => line.includes('▲ 85%'))).toHaveLength(1);
    terminal.interrupt();
    await shown(/Continue {2}orch resume -e migrate/);
    expect(terminal.lines().filter((line) => isLive(line) || line.includes('^C'))).toEqual([]);
    expect(statusOf(repository, 'migrate').session.status).toBe('paused');
  });

  it('and its session survive the terminal’s being closed: it is paused, with a checkpoint', async () => {
    const repository = makeRepositoryWithCommit();
    const terminal = openTerminal(repository, 80);
    terminal.type(callOrch('start -e a'));
    await waitUntil(() => terminal.rows().some(isLive));
    const { holder } = JSON.parse(readFileSync(liveFiles(repository)[0] ?? '', 'utf8'));
    terminal.close();
    await waitUntil(() => !isAlive(holder.pid));
    expect(triggersOf(repository, 'a')).toEqual(['session_start', 'pause']);
    expect(liveFiles(repository)).toEqual([]);
    expect(statusOf(repository, 'a')).toMatchObject({
      session: { status: 'paused' },
      checkpoint: { trigger: 'pause', reason: 'Stopped by SIGHUP' },
    });
  });

  it('Ctrl+C is the command’s: one that goes on ends the session in its own time, with its own status', async () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'checkpoint: { stopGrace: 10ms }\n');
    const agent = writeScript(
      repository,
      'agent',
      'trap "echo heard" INT',
      'sleep 0.3', // a Ctrl+C in the very first moment is the session's
      'echo ready',
      'while [ ! -e "$HOME/enough" ]; do sleep 0.1; done',
      'exit 3',
    );
    const terminal = openTerminal(repository, 80);
    const sees = (line: string) => waitUntil(() => terminal.rows().some((row) => row.endsWith(line)));
    terminal.type(`${callOrch(`start -e a -- '${agent}'`)}; echo "status $?"`);
    await sees('ready');
    terminal.interrupt();
    await sees('heard');
    writeFileSync(join(repository.home, 'enough'), '');
    await sees('status 3');
    expect(statusOf(repository, 'a').session.status).toBe('failed');
    terminal.type(`${callOrch('start -e b -- sleep 60')}; echo "status $?"`);
    await waitUntil(() => terminal.rows().some((row) => row.startsWith('orch: b')));
    terminal.interrupt();
    await sees('status 130');
    expect(statusOf(repository, 'b').session.status).toBe('paused');
  });
});
