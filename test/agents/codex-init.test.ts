import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { codexEnvironment, codexProgram, runCodex, writeCodexConfig } from './support/codex.ts';
import { trustOf } from './support/hooks.ts';
import { startOpenAiModel } from './support/openai.ts';
import { statusOf } from './support/orch.ts';
import type { Asked } from './support/script.ts';
import { hasTmux, openTerminal } from './support/terminal.ts';

/** Hooks orch into Codex; what the user's trust in the folder and the hooks leaves in the configuration. */
function initCodex(repository: TestRepository): string {
  repository.git('switch', '--quiet', '--create', 'feat/login');
  const PATH = `${dirname(codexProgram ?? '')}${delimiter}${process.env.PATH}`;
  const ran = runOrch(repository, ['init', '-y', '--no-claude'], { env: { PATH } });
  expect(ran).toMatchObject({ status: 0, stderr: expect.stringContaining('type /hooks') });
  const file = join(repository.folder, '.codex', 'hooks.json');
  const { hooks } = JSON.parse(readFileSync(file, 'utf8'));
  const trusted = Object.keys(hooks).map((event) => trustOf(file, event, hooks[event][0].hooks[0]));
  return [`[projects.${JSON.stringify(repository.folder)}]\ntrust_level = "trusted"\n`, ...trusted].join(
    '\n',
  );
}

/** In a terminal it also asks on the side, for a title and the like, without tools. */
const isTurn = ({ body }: Asked) => body.tools?.length > 0;

const epicRef = 'orchestration/epics/feat-login';

const writes = (name: string) => ({
  when: isTurn,
  tools: [{ tool: 'exec_command', input: { cmd: `echo one > ${name}` } }],
  usage: { input_tokens: 0, output_tokens: 200_000 },
});

describe.skipIf(!codexProgram)('Codex, after orch init', () => {
  it('is recorded once the user trusts the hooks, and the next run starts with the brief', async () => {
    const repository = makeRepositoryWithCommit();
    const config = initCodex(repository);
    const model = await startOpenAiModel([{ text: 'The form is there.' }, { text: 'Went on.' }]);
    await runCodex(repository, 'make login redirect', { url: model.url, config });
    const status = () =>
      orchJson<{ session: object }>(repository, ['session', 'status', '--epic', 'feat-login']).session;
    expect(status()).toMatchObject({ number: 1, agent: 'codex', status: 'paused' });
    const asked = model.asked.length;
    await runCodex(repository, 'go on', { url: model.url, config });
    expect(JSON.stringify(model.asked[asked]?.body)).toContain('make login redirect');
    expect(status()).toMatchObject({ number: 2, agent: 'codex', status: 'paused' });
  });

  it('is stopped at the budget, after the checkpoint, and asks its model nothing more', async () => {
    const repository = makeRepositoryWithCommit();
    const config = initCodex(repository);
    runOrch(repository, ['cost', 'budget', '1', '-e', 'feat-login']);
    // What a request cost is known once its tools are done: the second one is the last.
    const model = await startOpenAiModel([
      writes('a.txt'),
      writes('b.txt'),
      writes('c.txt'),
      writes('d.txt'),
    ]);
    const ran = await runCodex(repository, 'write four files', { url: model.url, config });
    expect({ status: ran.status, requests: model.asked.length }).toEqual({ status: 1, requests: 2 });
    expect(existsSync(join(repository.folder, 'b.txt'))).toBe(false);
    expect(statusOf(repository, 'feat-login')).toMatchObject({
      session: { status: 'budget_exceeded' },
      budget: { spentUsd: 4 },
    });
    const triggers = repository.git('log', '--format=%(trailers:key=Orch-Trigger,valueonly)', epicRef);
    expect(triggers).toMatch(/^budget$/m);
    const log = readFileSync(join(repository.folder, '.git', 'orchestration', 'logs', 'orch.log'), 'utf8');
    expect(log).toMatch(/ending the turn of codex .* the budget of feat-login is used up/);
    // The next prompt does not reach the model.
    await runCodex(repository, 'go on', { url: model.url, config });
    expect(model.asked).toHaveLength(2);
  });

  it.skipIf(!hasTmux)('is interrupted at the budget in a terminal, and its server lives on', async () => {
    const repository = makeRepositoryWithCommit();
    const options = { url: '', config: initCodex(repository) };
    runOrch(repository, ['cost', 'budget', '1', '-e', 'feat-login']);
    const model = await startOpenAiModel([
      writes('a.txt'),
      writes('b.txt'),
      writes('c.txt'),
      writes('d.txt'),
    ]);
    writeCodexConfig(repository, { ...options, url: model.url });
    const env = { ...codexEnvironment(repository, options), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const terminal = openTerminal(repository, codexProgram ?? '', ['write four files'], env);
    try {
      await terminal.shows('Conversation interrupted');
      expect(terminal.runs()).toBe(true);
      const turns = model.asked.filter(isTurn);
      expect({ turns: turns.length, wrote: existsSync(join(repository.folder, 'b.txt')) }).toEqual({
        turns: 2,
        wrote: false,
      });
      expect(statusOf(repository, 'feat-login').session.status).toBe('budget_exceeded');
      await terminal.type('go on');
      await terminal.shows('is used up');
    } finally {
      endServers(repository);
    }
  });
});

/** Codex in a terminal leaves a server running that waits for the user's next conversation. */
function endServers({ home }: TestRepository): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (program.startsWith(join(home, '.codex'))) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended while it was looked at.
    }
  }
}
