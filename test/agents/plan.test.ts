import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { orchBin } from '../support/orch.ts';
import { statusesOf } from '../support/plans.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeEnvironment, claudeProgram } from './support/claude.ts';
import { priceOf } from './support/cost.ts';
import { installHooks, statusOf } from './support/orch.ts';
import { startAgent } from './support/ran.ts';
import { writeTool } from './support/script.ts';

const template = fileURLToPath(new URL('../../templates/plans/agent.yaml', import.meta.url));

describe.skipIf(!claudeProgram)('the agent template', () => {
  it('lets Claude Code plan and work, a checkpoint a step, and its costs are the run’s', async () => {
    const repository = makeRepositoryWithCommit();
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'PLAN.md', 'one step\n')], usage: { output_tokens: 2_000 } },
      { text: 'Planned.' },
      { tools: [writeTool(repository.folder, 'app.js', 'done\n')], usage: { output_tokens: 4_000 } },
      { text: 'Done.' },
    ]);
    repository.write('TASK.md', 'Write app.js.\n');
    repository.write('package.json', JSON.stringify({ name: 'app', scripts: { test: 'test -s app.js' } }));
    copyFileSync(template, join(repository.folder, 'agent.yaml'));
    installHooks(repository);
    const programs = join(repository.home, 'programs');
    mkdirSync(programs);
    symlinkSync(claudeProgram ?? '', join(programs, 'claude'));
    const { PATH, ...env } = claudeEnvironment(repository, {
      url: model.url,
      env: { ANTHROPIC_MODEL: 'claude-sonnet-4-5' },
    });
    const ran = await startAgent(process.execPath, [orchBin, 'run', 'agent.yaml', '-e', 'a', '--json'], {
      cwd: repository.folder,
      env: { ...env, PATH: `${programs}:${PATH}` },
    }).ended;
    expect({ status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
    expect(statusesOf(JSON.parse(ran.stdout))).toEqual({
      plan: 'succeeded',
      work: 'succeeded',
      test: 'succeeded',
      fix: 'skipped',
      green: 'succeeded',
    });
    expect(statusOf(repository, 'a').budget.spentUsd).toBeCloseTo(priceOf(model.given), 6);
  });
});
