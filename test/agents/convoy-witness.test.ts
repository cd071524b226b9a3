import { describe, expect, it } from 'vitest';
import { readMerged } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { isFor, listSessions, orch, showConvoy, stageConvoy, startConvoy, taskOf } from './support/convoy.ts';
import { bashTool, writeTool } from './support/script.ts';

const plan = `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 2, args: [--permission-mode, bypassPermissions] }
tasks:
  - { id: one, prompt: write the first file }
`;

describe.skipIf(!claudeProgram)('a Claude Code that repeats itself', () => {
  it('is told so by the witness while it works, and recovers in the same attempt', async () => {
    const staged = await stageConvoy(plan, {
      config: 'witness: { quiet: 1s, repeats: 3, patience: 10m }\n',
      claude: (folder) => [
        { words: 'You repeat yourself', tools: [writeTool(`${folder}/one`, 'one.txt', '1\n')] },
        { words: 'You repeat yourself', text: 'It was the wrong folder. Done.' },
        ...Array.from({ length: 60 }, () => ({
          words: 'write the first',
          tools: [bashTool('sleep 0.4; echo 3 failed in $RANDOM s')],
        })),
      ],
    });
    const ran = await startConvoy(staged, 'start', 'plan.yaml').ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ status: 'done', attempts: 1 });
    expect(readMerged(staged.repository, 'auth')['one.txt']).toBe('1');
    expect(listSessions(staged, 'one')).toHaveLength(1);
    // Once, with the result of a tool.
    const last = staged.claude.asked.findLast((asked) => isFor(asked, 'write the first'));
    const said = JSON.stringify(last?.body.messages);
    expect(said.split('You repeat yourself')).toHaveLength(2);
    expect(said).toMatch(/it did “Bash: [^”]+” [3-9] times in a row, with the same result/);
    expect(orch(staged, 'brief', '-e', 'auth--one').stdout).toContain('because it is looping');
  });
});
