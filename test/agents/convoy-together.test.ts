import { describe, expect, it } from 'vitest';
import { readMerged, statusesOf } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { codexProgram } from './support/codex.ts';
import { isFor, orch, runConvoy, spentOn, stageConvoy } from './support/convoy.ts';
import { type Asked, bashTool, writeTool } from './support/script.ts';
import { until } from './support/until.ts';

const plan = `workers: 4
worker: { agent: claude, model: claude-sonnet-4-5, attempts: 2, copy: [.claude/settings.local.json], args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file }
  - { id: three, prompt: write the third file }
  - { id: four, prompt: write the fourth file, worker: { agent: codex, model: auto, args: [] } }
`;

describe.skipIf(!claudeProgram || !codexProgram)('Claude Code and Codex in one convoy', () => {
  it('C6: four at once are merged, one after resolving its conflict; the money is that of all sessions', async () => {
    // Each waits until all are at work.
    const meet = (task: string, then: string) =>
      `touch "$HOME/at-$ORCH_TASK"; until [ "$(ls "$HOME" | grep -c '^at-')" = 4 ]; do sleep 0.05; done; ${then}; : ${task}`;
    const staged = await stageConvoy(plan, {
      claude: (folder) => [
        {
          words: 'write the first',
          tools: [bashTool(meet('one', 'echo first >> README'))],
          usage: { output_tokens: 1_111 },
        },
        {
          words: 'write the second',
          tools: [
            bashTool(
              meet(
                'two',
                'until git show orch/auth/merged:README | grep -q first; do sleep 0.1; done; echo second >> README',
              ),
            ),
          ],
          usage: { output_tokens: 2_222 },
        },
        {
          words: 'write the third',
          tools: [bashTool(meet('three', 'true'))],
          usage: { output_tokens: 3_333 },
        },
        { words: 'write the third', tools: [writeTool(`${folder}/three`, 'three.txt', '3\n')] },
        {
          words: 'It conflicts with',
          tools: [
            bashTool(
              'git merge -q orch/auth/merged; printf "hello\\nfirst\\nsecond\\n" > README; git commit -qam resolved',
            ),
          ],
          usage: { output_tokens: 4_444 },
        },
      ],
      codex: () => [
        {
          words: 'write the fourth',
          tools: [{ tool: 'exec_command', input: { cmd: meet('four', 'echo 4 > four.txt') } }],
          usage: { input_tokens: 7, output_tokens: 5_555 },
        },
      ],
    });
    // Claude Code finds the hooks in the checkout's settings and in the worktree's: nothing may be counted twice.
    expect(orch(staged, 'init', '-y', '--no-codex').status).toBe(0);
    const ran = await runConvoy(staged, 'start', 'plan.yaml');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(statusesOf(ran.document)).toEqual({ one: 'done', two: 'done', three: 'done', four: 'done' });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({
      README: 'hello\nfirst\nsecond',
      'three.txt': '3',
      'four.txt': '4',
    });
    const { budget, tasks } = ran.document.convoy;
    expect(budget.spentUsd).toBeCloseTo(spentOn(staged), 6);
    expect(tasks.reduce((sum, { costUsd }) => sum + costUsd, 0)).toBeCloseTo(spentOn(staged), 6);
    expect(tasks.map(({ attempts }) => attempts)).toEqual([1, 2, 1, 1]);
    const back = staged.claude.asked.find(({ body }) =>
      JSON.stringify(body?.messages).includes('It conflicts with'),
    );
    expect(JSON.stringify(back?.body?.messages)).toContain('write the second file');
    expect(orch(staged, 'log', 'auth--one').stdout.match(/^ +asked /gm)).toHaveLength(1);
    expect(staged.repository.git('status', '--porcelain', '--untracked-files=no')).toBe('');
  });

  it('a Claude Code resolves a conflict with the rights it has by default', async () => {
    const staged = await stageConvoy(
      `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 2 }
tasks:
  - { id: one, prompt: write the first line, worker: { agent: echo first >> README } }
  - { id: two, prompt: write the second line }
`,
      {},
    );
    const { repository, claude, worktrees } = staged;
    const read = { tool: 'Read', input: { file_path: `${worktrees}/two/README` } };
    const write = (text: string) => writeTool(`${worktrees}/two`, 'README', text);
    const first = until(
      () => repository.tryGit('show', 'orch/auth/merged:README').stdout.includes('first'),
      () => 'the first line',
    );
    const second = (asked: Asked) => isFor(asked, 'write the second');
    const conflict = (asked: Asked) => isFor(asked, 'It conflicts with');
    claude.script.add(
      { when: conflict, tools: [read] },
      { when: conflict, tools: [write('hello\nfirst\nsecond\n')] },
      { when: conflict, tools: [bashTool('git add README && git commit -q -m resolved')] },
      { when: conflict, text: 'Resolved.' },
      { when: second, after: first, tools: [read] },
      { when: second, tools: [write('hello\nsecond\n')] },
    );
    const ran = await runConvoy(staged, 'start', 'plan.yaml');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(readMerged(repository, 'auth').README).toBe('hello\nfirst\nsecond');
    expect(repository.git('log', '--format=%s', 'orch/auth/two')).toMatch(/^resolved$/m);
  });
});
