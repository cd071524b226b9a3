import { describe, expect, it } from 'vitest';
import { readMerged } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { isFor, orch, showConvoy, stageConvoy, startConvoy, taskOf, untilConvoy } from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';

const plan = `workers: 2
worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1, args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file }
  - { id: three, needs: [two], prompt: write the third file }
`;

describe.skipIf(!claudeProgram)('a worker at the limit of its provider', () => {
  it('waits until the reset, which is no failed attempt, and continues in its conversation; no other starts meanwhile', async () => {
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
              resetsAt = Math.floor(Date.now() / 1000) + 18;
              return String(resetsAt);
            },
            'anthropic-ratelimit-unified-representative-claim': 'five_hour',
          },
        },
        { words: 'write the first', tools: [writeTool(`${folder}/one`, 'one.txt', '1\n')] },
        { words: 'write the third', tools: [writeTool(`${folder}/three`, 'three.txt', '3\n')] },
        { words: 'write the second', tools: [writeTool(`${folder}/two`, 'two.txt', '2\n')] },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await untilConvoy(staged, (shown) => taskOf(shown, 'one')?.health === 'limited');
    const { why } = JSON.parse(orch(staged, 'convoy', 'why', 'one', '--json').stdout);
    // orch waits a second longer, because clocks differ.
    const reset = new Date((resetsAt + 1) * 1000).toISOString().replace('.000', '');
    expect(why.next).toBe(`It continues when its provider's limit ends, at ${reset}.`);
    // The other worker is not held up.
    await untilConvoy(staged, (shown) => taskOf(shown, 'two')?.status === 'done');
    // The next one is not even tried: it would be refused too.
    await untilConvoy(staged, (shown) => taskOf(shown, 'three')?.status === 'held');
    expect(taskOf(showConvoy(staged), 'three')?.reason).toMatch(
      /^its provider refuses claude until .*; it continues then by itself$/,
    );
    expect(staged.claude.asked.some((asked) => isFor(asked, 'write the third'))).toBe(false);
    expect(Date.now()).toBeLessThan(resetsAt * 1000);
    const ran = await convoy.ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(Date.now()).toBeGreaterThan(resetsAt * 1000);
    const shown = showConvoy(staged);
    expect(shown?.tasks.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
    expect(taskOf(shown, 'one')).toMatchObject({ attempts: 1 });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({
      'begun.txt': 'begun',
      'one.txt': '1',
      'three.txt': '3',
    });
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'write the first'));
    expect(JSON.stringify(last?.body.messages)).toContain('echo begun');
  });
});
