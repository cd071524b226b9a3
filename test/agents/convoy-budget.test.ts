import { describe, expect, it } from 'vitest';
import { readMerged, statusesOf } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { codexProgram } from './support/codex.ts';
import { isFor, runConvoy, spentOn, stageConvoy } from './support/convoy.ts';
import { bashTool } from './support/script.ts';

const plan = `workers: 3
budget: 0.09
worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1, args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file }
  - { id: three, prompt: write the third file, worker: { agent: codex, model: auto, args: [] } }
`;

/** Waits until all three are at work. */
const meet =
  'touch "$HOME/at-$ORCH_TASK"; until [ "$(ls "$HOME" | grep -c "^at-")" = 3 ]; do sleep 0.05; done';

/** What an answer of this many output tokens costs at most, with its input. */
const dearest = 0.0451;

describe.skipIf(!claudeProgram || !codexProgram)('the budget of a convoy of real agents', () => {
  it('C6: stops all of them, and with more they continue in their conversations', async () => {
    const ofClaude = (words: string, file: string) => [
      { words, tools: [bashTool(meet)], usage: { output_tokens: 1_000 } },
      { words, tools: [bashTool('sleep 60')], usage: { output_tokens: 3_000 } },
      { words, tools: [bashTool(`echo done > ${file}`)] },
    ];
    const shell = (cmd: string) => [{ tool: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }];
    const words = 'write the third';
    const staged = await stageConvoy(plan, {
      claude: () => [...ofClaude('write the first', 'one.txt'), ...ofClaude('write the second', 'two.txt')],
      codex: () => [
        { words, tools: shell(meet), usage: { output_tokens: 1_500 } },
        { words, tools: shell('sleep 60'), usage: { output_tokens: 4_500 } },
        { words, tools: shell('echo done > three.txt') },
      ],
    });
    const ran = await runConvoy(staged, 'start', 'plan.yaml');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 4 });
    expect(statusesOf(ran.document)).toEqual({ one: 'held', two: 'held', three: 'held' });
    const spent = ran.document.convoy.budget.spentUsd;
    expect(spent).toBeCloseTo(spentOn(staged), 6);
    expect(spent).toBeGreaterThanOrEqual(0.09);
    expect(spent).toBeLessThan(0.09 + 3 * dearest);
    // Nothing works, and nothing is asked, until there is more.
    const asked = staged.claude.asked.length + staged.codex.asked.length;
    const without = await runConvoy(staged, 'resume');
    expect(without.status).toBe(4);
    expect(staged.claude.asked.length + staged.codex.asked.length).toBe(asked);

    const more = await runConvoy(staged, 'resume', '--budget', '+1');
    expect({ status: more.status, stderr: more.stderr }).toMatchObject({ status: 0 });
    expect(statusesOf(more.document)).toEqual({ one: 'done', two: 'done', three: 'done' });
    expect(more.document.convoy.tasks.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    expect(readMerged(staged.repository, 'auth')).toMatchObject({ 'one.txt': 'done', 'three.txt': 'done' });
    expect(more.document.convoy.budget.spentUsd).toBeCloseTo(spentOn(staged), 6);
    const again = staged.claude.asked.findLast((each) => isFor(each, 'write the second'));
    expect(JSON.stringify(again?.body.messages)).toContain('at-$ORCH_TASK');
  });
});
