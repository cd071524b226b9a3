import { describe, expect, it } from 'vitest';
import { readMerged, statusesOf } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { isFor, orch, stageConvoy, startConvoy, taskOf, untilConvoy } from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';

const plan = `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1, args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file }
`;

describe.skipIf(!claudeProgram)('a worker at the limit of its provider', () => {
  it('waits until the reset, which is no failed attempt, and continues in its conversation', async () => {
    let resetsAt = 0;
    const staged = await stageConvoy(plan, {
      // Only a subscription has limits that say when they end.
      env: { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'x' },
      claude: (folder) => [
        { words: 'write the first', tools: [bashTool('echo begun > begun.txt')] },
        {
          words: 'write the first',
          status: 429,
          type: 'rate_limit_error',
          message: 'Slow down.',
          headers: {
            'x-should-retry': 'false',
            'anthropic-ratelimit-unified-status': 'rejected',
            get 'anthropic-ratelimit-unified-reset'() {
              resetsAt = Math.floor(Date.now() / 1000) + 7;
              return String(resetsAt);
            },
            'anthropic-ratelimit-unified-representative-claim': 'five_hour',
          },
        },
        { words: 'write the first', tools: [writeTool(`${folder}/one`, 'one.txt', '1\n')] },
        { words: 'write the second', tools: [writeTool(`${folder}/two`, 'two.txt', '2\n')] },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml', '--json');
    await untilConvoy(staged, (shown) => taskOf(shown, 'one')?.health === 'limited');
    const { why } = JSON.parse(orch(staged, 'convoy', 'why', 'one', '--json').stdout);
    // orch waits a second longer, because clocks differ.
    const until = new Date((resetsAt + 1) * 1000).toISOString().replace('.000', '');
    expect(why.next).toBe(`It continues when its provider's limit ends, at ${until}.`);
    // The other worker is not held up.
    await untilConvoy(staged, (shown) => taskOf(shown, 'two')?.status === 'done');
    const ran = await convoy.ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(Date.now()).toBeGreaterThan(resetsAt * 1000);
    const document = JSON.parse(ran.stdout);
    expect(statusesOf(document)).toEqual({ one: 'done', two: 'done' });
    expect(taskOf(document.convoy, 'one')).toMatchObject({ attempts: 1 });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({ 'begun.txt': 'begun', 'one.txt': '1' });
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'write the first'));
    expect(JSON.stringify(last?.body.messages)).toContain('echo begun');
  });
});
