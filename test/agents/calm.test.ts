import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { addOrch } from '../../src/agents/claude/claude-settings.ts';
import { quoteForShell } from '../../src/text.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { startAnthropicModel } from './support/anthropic.ts';
import { claudeProgram, readTranscripts, runClaude, startClaude } from './support/claude.ts';
import { writeClaudeSettings } from './support/hooks.ts';
import { bashTool, writeTool } from './support/script.ts';
import { until } from './support/until.ts';

/** A repository with orch's hooks, by a program that notes each call before it is orch. */
function makeHooked() {
  const repository = makeRepositoryWithCommit();
  const program = join(repository.home, 'orch');
  const log = join(repository.home, 'started');
  const orch = quoteForShell([process.execPath, orchBin]);
  const lines = ['#!/bin/sh', `echo started >>${quoteForShell([log])}`, `exec ${orch} "$@"`];
  writeFileSync(program, `${lines.join('\n')}\n`, { mode: 0o755 });
  const settings = addOrch(null, { command: [program], shared: false, version: '2.1.326' });
  if ('problem' in settings) throw new Error(settings.problem);
  writeClaudeSettings(repository, { ...JSON.parse(settings.text), permissions: { allow: ['Bash'] } });
  const started = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0);
  return { repository, started };
}

const env = { ORCH_EPIC: 'x' };
const quick = { output_tokens: 10 };
/** A million output tokens of Sonnet cost fifteen dollars. */
const expensive = { output_tokens: 100_000 };

type Known = { files: object; issues: Record<string, { value: { title: string; status: string } }> };

function know(repository: TestRepository): Known {
  expect(runOrch(repository, ['checkpoint', 'create', '-e', 'x']).status).toBe(0);
  return orchJson<{ document: { state: Known } }>(repository, ['checkpoint', 'show', '-e', 'x']).document
    .state;
}

describe.skipIf(!claudeProgram)('tool calls of Claude Code', () => {
  it.each([null, '100'])(
    'with a budget of %s start no orch, and all they did is recorded',
    async (budget) => {
      const { repository, started } = makeHooked();
      if (budget !== null) runOrch(repository, ['cost', 'budget', budget, '-e', 'x']);
      const names = Array.from({ length: 10 }, (_, index) => `file-${index}.ts`);
      const model = await startAnthropicModel([
        ...names.map((name) => ({ tools: [writeTool(repository.folder, name, 'one\n')], usage: quick })),
        { tools: [{ tool: 'TaskCreate', input: { subject: 'The redirect', description: 'It.' } }] },
        { tools: [bashTool('echo "Tests  1 failed | 2 passed (3)"; exit 1')] },
        { text: 'Done.' },
      ]);
      await runClaude(repository, 'make login redirect', { url: model.url, env });
      // Start, prompt, stop and end; and with a budget one beside the first tool.
      expect(started()).toBeLessThanOrEqual(6);
      const known = know(repository);
      expect(Object.keys(known.files).sort()).toEqual(names);
      expect(Object.values(known.issues).map(({ value }) => value)).toMatchObject([
        { title: 'The redirect', status: 'open' },
      ]);
      expect(known).toMatchObject({ current: { testState: { value: { failed: 1 } } } });
    },
  );

  it('near a budget the one that would exceed it does not run', async () => {
    const { repository } = makeHooked();
    runOrch(repository, ['cost', 'budget', '2', '-e', 'x']);
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'a.ts', 'one\n')], usage: expensive },
      { tools: [writeTool(repository.folder, 'b.ts', 'one\n')], usage: expensive },
      { text: 'Went on.' },
    ]);
    await runClaude(repository, 'write', { url: model.url, env });
    const isThere = (name: string) => existsSync(join(repository.folder, name));
    expect(['a.ts', 'b.ts'].map(isThere)).toEqual([true, false]);
    expect(model.asked.length).toBe(2);
  });

  it('far from a budget a model that spends fast is stopped at it all the same', async () => {
    const { repository } = makeHooked();
    runOrch(repository, ['cost', 'budget', '20', '-e', 'x']);
    const names = Array.from({ length: 20 }, (_, index) => `file-${index}.ts`);
    const model = await startAnthropicModel(
      names.map((name) => ({ tools: [writeTool(repository.folder, name, 'one\n')], usage: expensive })),
    );
    await runClaude(repository, 'write', { url: model.url, env });
    // The fourteenth request is the one that comes to $21.
    const written = names.filter((name) => existsSync(join(repository.folder, name)));
    expect(written).toEqual(names.slice(0, 13));
  });

  it('a budget set from another shell in mid-turn stops the very next one', async () => {
    const { repository } = makeHooked();
    let proceed = () => {};
    const after = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'a.ts', 'one\n')], usage: expensive },
      { tools: [writeTool(repository.folder, 'b.ts', 'one\n')], usage: expensive, after },
      { text: 'Went on.' },
    ]);
    const claude = startClaude(repository, 'write', { url: model.url, env });
    await until(
      () => model.asked.length === 2,
      () => 'the second request',
    );
    expect(runOrch(repository, ['cost', 'budget', '2', '-e', 'x']).status).toBe(0);
    proceed();
    await claude.ended;
    expect(existsSync(join(repository.folder, 'b.ts'))).toBe(false);
    expect(model.asked.length).toBe(2);
  });

  it('what a killed one did is known to the next session', async () => {
    const { repository } = makeHooked();
    const model = await startAnthropicModel([
      { tools: [writeTool(repository.folder, 'a.ts', 'one\n')] },
      { tools: [bashTool('echo "Tests  1 failed | 2 passed (3)"; exit 1')] },
      { text: 'Never said.', after: new Promise(() => {}) },
    ]);
    const claude = startClaude(repository, 'write', { url: model.url, env });
    await until(
      () => model.asked.length === 3,
      () => 'the third request',
    );
    const isWritten = () => JSON.stringify(readTranscripts(repository)).includes('Exit code 1');
    await until(isWritten, () => 'the result of the tests in the transcript');
    claude.kill('SIGKILL');
    await claude.died;
    const next = await startAnthropicModel([{ text: 'Went on.' }]);
    await runClaude(repository, 'go on', { url: next.url, env });
    const brief = JSON.stringify(next.asked[0]?.body);
    for (const known of ['a.ts', '1 of 3 tests failed']) expect(brief).toContain(known);
  });
});
