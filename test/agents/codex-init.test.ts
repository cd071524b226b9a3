import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { codexProgram, runCodex } from './support/codex.ts';
import { trustOf } from './support/hooks.ts';
import { startOpenAiModel } from './support/openai.ts';

describe.skipIf(!codexProgram)('Codex, after orch init', () => {
  it('is recorded once the user trusts the hooks, and the next run starts with the brief', async () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--create', 'feat/login');
    const PATH = `${dirname(codexProgram ?? '')}${delimiter}${process.env.PATH}`;
    const ran = runOrch(repository, ['init', '-y', '--no-claude'], { env: { PATH } });
    expect(ran).toMatchObject({ status: 0, stderr: expect.stringContaining('type /hooks') });
    const file = join(repository.home, '.codex', 'hooks.json');
    const { hooks } = JSON.parse(readFileSync(file, 'utf8'));
    // What the user's approval in /hooks leaves in the configuration.
    const config = Object.keys(hooks)
      .map((event) => trustOf(file, event, hooks[event][0].hooks[0]))
      .join('\n');
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
});
