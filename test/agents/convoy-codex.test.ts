import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { afterTest } from '../support/cleanup.ts';
import { readMerged } from '../support/convoys.ts';
import { codexProgram, readRollouts } from './support/codex.ts';
import {
  isFor,
  listSessions,
  orch,
  runConvoy,
  showConvoy,
  stageConvoy,
  startConvoy,
  taskOf,
  untilConvoy,
} from './support/convoy.ts';
import { until } from './support/until.ts';

const head = 'worker: { agent: codex, attempts: 2 }\n';
const shell = (cmd: string) => [{ tool: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }];

/** Its sandbox hides the memory in which tests usually work, and not every system allows it to have one. */
const onDisk = '/var/tmp';
const hasSandbox =
  codexProgram !== null && spawnSync(codexProgram, ['sandbox', 'true'], { cwd: onDisk }).status === 0;

/** Has the test make its folders on the disk. */
function workOnDisk(): void {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(onDisk, 'orch-tests-'));
  process.env.TMPDIR = folder;
  afterTest(() => {
    rmSync(folder, { recursive: true, force: true });
    process.env.TMPDIR = before;
  });
}

describe.skipIf(!codexProgram)('a Codex in a convoy', () => {
  it('hears at its next turn what was said, in its own thread', async () => {
    const staged = await stageConvoy(`${head}tasks:\n  - { id: one, prompt: write the first file }\n`, {
      codex: () => [
        {
          words: 'write the first',
          tools: shell(
            'echo spaces > one.txt; touch "$HOME/at-work"; until [ -e "$HOME/go" ]; do sleep 0.05; done',
          ),
        },
        { words: 'write the first', text: 'Spaces it is.' },
        { words: 'use tabs', tools: shell('echo tabs > one.txt') },
      ],
    });
    const convoy = startConvoy(staged, 'start', 'plan.yaml');
    await until(() => existsSync(join(staged.repository.home, 'at-work')), convoy.stdout);
    const said = orch(staged, 'convoy', 'say', 'one', 'use tabs', '--json');
    expect(JSON.parse(said.stdout)).toMatchObject({ task: 'one', heard: 'in its next turn' });
    staged.repository.write('../go', '');
    expect(await convoy.ended).toMatchObject({ status: 0 });
    expect(readMerged(staged.repository, 'auth')['one.txt']).toBe('tabs');
    expect(taskOf(showConvoy(staged), 'one')).toMatchObject({ attempts: 1 });
    const last = staged.codex.asked.findLast((asked) => isFor(asked, 'use tabs'));
    expect(JSON.stringify(last?.body.input)).toContain('Spaces it is.');
    expect(readRollouts(staged.repository)).toHaveLength(1);
  });

  it('resumes its own thread when its work is sent back, beside another Codex', async () => {
    const staged = await stageConvoy(
      `${head}tasks:\n  - { id: one, prompt: write the first file }\n  - { id: two, prompt: write the second file }\n`,
      {
        codex: () => [
          { words: 'write the first', text: 'There is nothing to do for xylophones.' },
          { words: 'Nothing was changed.', tools: shell('echo 1 > one.txt') },
          { words: 'write the second', tools: shell('echo 2 > two.txt') },
        ],
      },
    );
    const ran = await runConvoy(staged, 'start', 'plan.yaml');
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(ran.document.convoy.tasks.map(({ attempts }) => attempts)).toEqual([2, 1]);
    const again = staged.codex.asked.find((asked) => isFor(asked, 'Nothing was changed.'));
    expect(JSON.stringify(again?.body.input)).toContain('xylophones');
    expect(readRollouts(staged.repository)).toHaveLength(2);
    expect(listSessions(staged, 'one')).toHaveLength(2);
  });

  it.skipIf(!hasSandbox)(
    'writes and asks in a sandbox that keeps it to its worktree, without any setting',
    async () => {
      workOnDisk();
      const staged = await stageConvoy(`${head}tasks:\n  - { id: one, prompt: paint it }\n`, {
        isCodexFree: false,
        codex: (folder) => [
          {
            words: 'paint it',
            tools: shell(
              `echo red > one.txt; echo stray > ${folder}/../stray.txt; git stash drop 2> stash.txt; orch ask "Which colour?" --wait`,
            ),
          },
          { words: 'teal', tools: shell('echo teal > one.txt') },
        ],
      });
      const convoy = startConvoy(staged, 'start', 'plan.yaml');
      await untilConvoy(staged, (shown) => taskOf(shown, 'one')?.status === 'needs_input');
      expect(orch(staged, 'convoy', 'say', 'one', 'teal').status).toBe(0);
      expect(await convoy.ended).toMatchObject({ status: 0 });
      const merged = readMerged(staged.repository, 'auth');
      expect(merged['one.txt']).toBe('teal');
      expect(merged['stash.txt']).toContain('a worker does not change them');
      expect(listSessions(staged, 'one')).toHaveLength(1);
      expect(existsSync(join(staged.worktrees, '..', 'stray.txt'))).toBe(false);
    },
  );

  it.skipIf(!hasSandbox)(
    'resolves a conflict in its files, though its sandbox keeps it from committing',
    async () => {
      workOnDisk();
      const plan = `${head}tasks:
  - { id: one, prompt: write the first line, worker: { agent: echo first >> README } }
  - { id: two, prompt: write the second line }
`;
      const isMerged = 'git show orch/auth/merged:README | grep -q first';
      const staged = await stageConvoy(plan, {
        isCodexFree: false,
        codex: () => [
          {
            words: 'It conflicts with',
            tools: shell(
              'grep -q "^<<<<<<<" README && printf "hello\\nfirst\\nsecond\\n" > README; git commit -qam resolved',
            ),
          },
          { words: 'It conflicts with', text: 'Resolved.' },
          {
            words: 'write the second',
            tools: shell(`until ${isMerged}; do sleep 0.05; done; echo second >> README`),
          },
        ],
      });
      const ran = await runConvoy(staged, 'start', 'plan.yaml');
      expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
      expect(readMerged(staged.repository, 'auth').README).toBe('hello\nfirst\nsecond');
      expect(staged.repository.git('log', '--format=%s', 'orch/auth/two')).not.toContain('resolved');
    },
  );
});
