import { describe, expect, it } from 'vitest';
import { readMerged } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { codexProgram } from './support/codex.ts';
import { isFor, orch, showConvoy, stageConvoy, startConvoy, taskOf } from './support/convoy.ts';
import { type Asked, writeTool } from './support/script.ts';

const plan = `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 2 }
review: { by: [claude, codex], required: 1 }
tasks:
  - { id: one, prompt: write the first file }
`;

/** A review with the code of the request in it. */
function answer({ body }: Asked, findings: readonly object[]): string {
  const [, code] = /write this code: (r-[a-z0-9]+)/.exec(JSON.stringify(body)) ?? [];
  const summary = 'It writes one file, and I read it.';
  return `I looked at it.\n\n${JSON.stringify({ review: code, summary, files: ['one.txt'], findings }, null, 2)}`;
}

describe.skipIf(!claudeProgram || !codexProgram)('reviewers of different vendors', () => {
  it('one of which fails: what the other finds goes back, and its second review accepts', async () => {
    const high = { severity: 'high', file: 'one.txt', line: 1, title: 'The number is wrong' };
    const staged = await stageConvoy(plan, {
      claude: (folder) => [
        { words: 'Review a change', textFor: (asked) => answer(asked, [high]) },
        // The worker, told what was found.
        { words: 'The review found', tools: [writeTool(`${folder}/one`, 'two.txt', '2\n')] },
        { words: 'The review found', text: 'Fixed.' },
        { words: 'write the first', tools: [writeTool(`${folder}/one`, 'one.txt', '1\n')] },
        { words: 'write the first', text: 'Done.' },
        { words: 'Review a change', textFor: (asked) => answer(asked, []) },
      ],
      codex: () =>
        Array.from({ length: 40 }, () => ({
          ...{ words: 'Review a change', status: 400, type: 'invalid_request_error', message: 'No.' },
        })),
    });
    const ran = await startConvoy(staged, 'start', 'plan.yaml').ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ status: 'done', attempts: 2 });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({ 'one.txt': '1', 'two.txt': '2' });
    // The reviewers cost money too, and the convoy pays for it.
    const spent = showConvoy(staged)?.budget.spentUsd ?? 0;
    const of = (epic: string) =>
      JSON.parse(orch(staged, 'cost', '-e', epic, '--json').stdout).budget.spentUsd as number; // as documented
    expect(of('auth--one.review-1')).toBeGreaterThan(0);
    const task = of('auth--one') + of('auth--one.review-1') + of('auth--one.review-2');
    expect(taskOf(showConvoy(staged), 'one')?.costUsd).toBeCloseTo(task, 4);
    // With the review of the whole.
    expect(spent).toBeGreaterThan(task);
    // A reviewer has no right to write.
    const review = staged.claude.asked.find((asked) => isFor(asked, 'Review a change'));
    expect(JSON.stringify(review?.body.tools)).not.toContain('"name":"Write"');
    expect(staged.codex.asked.some((asked) => isFor(asked, 'Review a change'))).toBe(true);
  });
});
