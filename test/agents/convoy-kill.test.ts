import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readMerged, statusesOf } from '../support/convoys.ts';
import { claudeProgram } from './support/claude.ts';
import { codexProgram } from './support/codex.ts';
import {
  isFor,
  listSessions,
  runConvoy,
  type Staged,
  spentOn,
  stageConvoy,
  startConvoy,
  taskOf,
  workerPid,
} from './support/convoy.ts';
import { isAlive } from './support/ran.ts';
import { bashTool } from './support/script.ts';
import { until } from './support/until.ts';

const head = `worker: { agent: claude, model: claude-sonnet-4-5, attempts: 1, args: [--permission-mode, bypassPermissions] }
`;

/** Notes the agent's process, and works until the test lets it. */
const workUntilTold = 'echo $PPID > "$HOME/$ORCH_TASK"; until [ -e "$HOME/go" ]; do sleep 0.05; done';

const isAtWork = ({ repository }: Staged, task: string) => {
  const path = join(repository.home, task);
  return existsSync(path) && readFileSync(path, 'utf8').trim() !== '';
};

function readConversations({ repository }: Staged): string {
  const folder = join(repository.home, '.claude', 'projects');
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  const files = names.filter((name) => name.endsWith('.jsonl'));
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
}

describe.skipIf(!claudeProgram || !codexProgram)('a convoy of real agents, killed', () => {
  it('its agents keep working without the scheduler, and the next one adopts them', async () => {
    const staged = await stageConvoy(
      `${head}tasks:
  - { id: one, prompt: write the first file }
  - { id: two, prompt: write the second file, worker: { agent: codex, model: auto, args: [] } }
  - { id: three, prompt: write the third file, needs: [one, two] }
`,
      {
        claude: () => [
          { words: 'write the first', tools: [bashTool(workUntilTold)], usage: { output_tokens: 1_000 } },
          {
            words: 'write the first',
            tools: [bashTool('echo 1 > one.txt')],
            usage: { output_tokens: 2_000 },
          },
          { words: 'write the third', tools: [bashTool('cat one.txt two.txt > three.txt')] },
        ],
        codex: () => [
          {
            words: 'write the second',
            tools: [{ tool: 'exec_command', input: { cmd: workUntilTold, yield_time_ms: 30_000 } }],
          },
          {
            words: 'write the second',
            tools: [{ tool: 'exec_command', input: { cmd: 'echo 2 > two.txt' } }],
          },
        ],
      },
    );
    const scheduler = startConvoy(staged, 'start', 'plan.yaml');
    await until(
      () => isAtWork(staged, 'one') && isAtWork(staged, 'two'),
      () => scheduler.stdout(),
    );
    scheduler.kill('SIGKILL');
    expect(await scheduler.died).toMatchObject({ signal: 'SIGKILL' });
    staged.repository.write('../go', '');
    // Their models are asked again while there is no scheduler.
    await until(
      () =>
        existsSync(join(staged.worktrees, 'one', 'one.txt')) &&
        existsSync(join(staged.worktrees, 'two', 'two.txt')),
      () => 'the work of both',
    );
    const ran = await runConvoy(staged, 'resume');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(statusesOf(ran.document)).toEqual({ one: 'done', two: 'done', three: 'done' });
    expect(readMerged(staged.repository, 'auth')['three.txt']).toBe('1\n2');
    for (const task of ['one', 'two', 'three']) expect(listSessions(staged, task)).toHaveLength(1);
    expect(ran.document.convoy.budget.spentUsd).toBeCloseTo(spentOn(staged), 6);
  });

  it('a worker whose supervisor and agent were killed continues in its conversation and its worktree', async () => {
    const staged = await stageConvoy(`${head}tasks:\n  - { id: one, prompt: write the first file }\n`, {
      claude: () => [
        {
          words: 'write the first',
          tools: [bashTool(`echo half > half.txt; ${workUntilTold}`)],
          usage: { output_tokens: 1_000 },
        },
        { words: 'You were interrupted', tools: [bashTool('cat half.txt > one.txt')] },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml', '--json');
    await until(() => isAtWork(staged, 'one'), convoy.stdout);
    // It writes down what it was answered only a little later; what a kill keeps from that, nobody can know.
    await until(() => readConversations(staged).includes('"output_tokens":1000'), convoy.stdout);
    const agent = Number(readFileSync(join(staged.repository.home, 'one'), 'utf8'));
    const supervisor = workerPid(staged, 'one');
    expect(isAlive(agent)).toBe(true);
    process.kill(supervisor, 'SIGKILL');
    process.kill(agent, 'SIGKILL');
    const ran = await convoy.ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(taskOf(JSON.parse(ran.stdout).convoy, 'one')).toMatchObject({ status: 'done', attempts: 1 });
    expect(readMerged(staged.repository, 'auth')).toMatchObject({ 'half.txt': 'half', 'one.txt': 'half' });
    const again = staged.claude.asked.find((asked) => isFor(asked, 'You were interrupted'));
    expect(JSON.stringify(again?.body.messages)).toContain('write the first file');
    expect(listSessions(staged, 'one')).toHaveLength(2);
    expect(JSON.parse(ran.stdout).convoy.budget.spentUsd).toBeCloseTo(spentOn(staged), 6);
  });
});
