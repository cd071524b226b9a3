import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readMerged } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import {
  isFor,
  listSessions,
  orch,
  showConvoy,
  stageConvoy,
  startConvoy,
  taskOf,
  untilConvoy,
} from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';
import { until } from './support/until.ts';

const head = 'worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1 }\n';

describe.skipIf(!claudeProgram)('a person and a Claude Code in a convoy', () => {
  it('it hears what is said to it while it works, once', async () => {
    const staged = await stageConvoy(
      `${head.replace('attempts', 'args: [--permission-mode, bypassPermissions], attempts')}tasks:\n  - { id: one, prompt: write the first file }\n`,
      {
        claude: () => [
          {
            words: 'write the first',
            tools: [bashTool('touch ../../at-work; until [ -e "$HOME/go" ]; do sleep 0.05; done')],
          },
          { words: 'use tabs', tools: [bashTool('echo tabs > one.txt')] },
        ],
      },
    );
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await until(() => existsSync(join(staged.worktrees, '..', 'at-work')), convoy.stdout);
    const said = orch(staged, 'convoy', 'say', 'one', 'use tabs', '--json');
    expect(JSON.parse(said.stdout)).toMatchObject({ task: 'one', heard: 'while it works' });
    staged.repository.write('../go', '');
    expect(await convoy.ended).toMatchObject({ status: 0 });
    expect(readMerged(staged.repository, 'auth')['one.txt']).toBe('tabs');
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'write the first'));
    expect(JSON.stringify(last?.body.messages).split('use tabs')).toHaveLength(2);
    // With the result of the tool that ran, not after its turn.
    const [, next] = staged.claude.asked.filter((asked) => isFor(asked, 'write the first'));
    expect(JSON.stringify(next?.body.messages)).toContain('use tabs');
    expect(listSessions(staged, 'one')).toHaveLength(1);
  });

  it('its question ends its turn, and the answer continues its conversation', async () => {
    const plan = `${head}tasks:\n  - { id: mailer, prompt: send mail }\n  - { id: other, worker: { agent: claim }, prompt: wait }\n`;
    const staged = await stageConvoy(plan, {
      claude: (folder) => [
        { words: 'send mail', tools: [bashTool('orch ask "SES or SMTP?" --option SES --option SMTP')] },
        { words: 'send mail', text: 'I wait for the answer.' },
        { words: 'SES please', tools: [writeTool(`${folder}/mailer`, 'mailer.txt', 'SES\n')] },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml', '--json');
    await untilConvoy(staged, (shown) => taskOf(shown, 'mailer')?.status === 'needs_input');
    await until(() => listSessions(staged, 'mailer')[0]?.status === 'completed', convoy.stdout);
    expect(orch(staged, 'convoy', 'say', 'mailer', 'SES please').status).toBe(0);
    await untilConvoy(staged, (shown) => taskOf(shown, 'mailer')?.status === 'done');
    expect(taskOf(showConvoy(staged), 'mailer')).toMatchObject({ attempts: 1 });
    expect(readMerged(staged.repository, 'auth')['mailer.txt']).toBe('SES');
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'SES please'));
    expect(JSON.stringify(last?.body.messages)).toContain('I wait for the answer.');
  });

  it('it waits for the answer to its question if it wants to, with the rights it has by default', async () => {
    // What the plan allows is added to what every worker may do.
    const plan = `${head.replace('attempts', 'args: [--allowedTools, "Bash(touch:*)"], attempts')}tasks:\n  - { id: one, prompt: paint it }\n`;
    const staged = await stageConvoy(plan, {
      claude: (folder) => [
        { words: 'paint it', tools: [bashTool('touch allowed.txt')] },
        { words: 'paint it', tools: [bashTool('git stash list')] },
        { words: 'paint it', tools: [bashTool('orch ask "Which colour?" --wait')] },
        { words: 'teal', tools: [writeTool(`${folder}/one`, 'one.txt', 'teal\n')] },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await untilConvoy(staged, (shown) => taskOf(shown, 'one')?.status === 'needs_input');
    expect(orch(staged, 'convoy', 'say', 'one', 'teal').status).toBe(0);
    expect(await convoy.ended).toMatchObject({ status: 0 });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({ 'allowed.txt': '', 'one.txt': 'teal' });
    expect(listSessions(staged, 'one')).toHaveLength(1);
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'paint it'));
    expect(JSON.stringify(last?.body.messages)).toContain('with command git stash list has been denied');
  });
});
