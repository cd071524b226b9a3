import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { orchBin } from '../support/orch.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

/** `orch init` on a terminal, waiting for an answer; what it ends with is shown after it. */
async function open() {
  const repository = makeRepositoryWithCommit();
  const script = `mkdir -p .claude; '${process.execPath}' '${orchBin}' init --no-codex; echo "ended with $?"; exec cat`;
  const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  const terminal = openTerminal(repository, 'sh', ['-c', script], env);
  await terminal.shows('Apply? [Y/n]');
  const isWritten = () => existsSync(join(repository.folder, '.claude', 'settings.local.json'));
  expect(isWritten()).toBe(false);
  return { terminal, isWritten };
}

describe.runIf(hasTmux)('orch init, asked on a terminal', () => {
  it.each([
    ['Enter', ['Enter']],
    ['y', ['y', 'Enter']],
  ])('writes at %s', async (_, keys) => {
    const { terminal, isWritten } = await open();
    terminal.press(...keys);
    await terminal.shows('Done. Work as usual: claude.');
    await terminal.shows('ended with 0');
    expect(isWritten()).toBe(true);
  });

  it.each([
    ['n', ['n', 'Enter'], 1],
    ['anything else', ['x', 'Enter'], 1],
    ['the end of input', ['C-d'], 1],
    ['Ctrl+C', ['C-c'], 130],
  ])('writes nothing at %s', async (_, keys, status) => {
    const { terminal, isWritten } = await open();
    terminal.press(...keys);
    await terminal.shows('Nothing was changed.');
    await terminal.shows(`ended with ${status}`);
    expect(isWritten()).toBe(false);
  });
});
