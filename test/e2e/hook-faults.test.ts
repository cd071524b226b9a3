import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeAgent, wrote } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

type Fault = { agent: string; event: string; message: string; count: number; at: string };

function faultsOf(repository: TestRepository, env: Record<string, string> = {}): Fault[] {
  return orchJson<{ faults: Fault[] }>(repository, ['status'], { env }).faults;
}

function breakConfig(repository: TestRepository): { mend(): void } {
  const folder = join(repository.folder, '.orchestration');
  mkdirSync(folder);
  writeFileSync(join(folder, 'config.yaml'), 'budgett: 5\n');
  return { mend: () => rmSync(folder, { recursive: true }) };
}

const noon = { ORCH_NOW: '2026-11-16T12:00:00Z' };

describe('a hook that fails', () => {
  it('does not disturb the agent, and is shown by status until it works again', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...noon });
    const { mend } = breakConfig(repository);
    expect(call('UserPromptSubmit', { prompt: 'Begin' })).toBeNull();
    expect(call('PostToolUse', wrote(repository, 'a.ts'))).toBeNull();
    expect(call('PostToolUse', wrote(repository, 'b.ts'))).toBeNull();
    expect(faultsOf(repository, noon)).toEqual([
      { at: noon.ORCH_NOW, agent: 'claude', event: 'tool', message: expect.any(String), count: 2 },
      { at: noon.ORCH_NOW, agent: 'claude', event: 'prompt', message: expect.any(String), count: 1 },
    ]);
    const { stdout, status } = runOrch(repository, ['status'], {
      env: { ...noon, ORCH_NOW: '2026-11-16T12:05:00Z' },
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/^! claude hook failed \(tool, 5m ago, 2 times\): .*budgett/m);
    expect(stdout).toMatch(/^! claude hook failed \(prompt, 5m ago\): .*budgett/m);
    expect(stdout).toContain(
      `  Log: ${join(repository.folder, '.git', 'orchestration', 'logs', 'orch.log')}`,
    );
    const doctor: { checks: object[] } = JSON.parse(
      runOrch(repository, ['doctor', '--json'], { env: noon }).stdout,
    );
    const evidence = expect.stringMatching(
      /^2 kinds of failure, the last one from claude \(tool\): .*budgett/,
    );
    expect(doctor.checks).toContainEqual(
      expect.objectContaining({ name: 'hook faults', status: 'warn', evidence }),
    );

    mend();
    call('PostToolUse', wrote(repository, 'c.ts'));
    expect(faultsOf(repository, noon)).toMatchObject([{ event: 'prompt' }]);
    call('UserPromptSubmit', { prompt: 'Go on' });
    expect(faultsOf(repository, noon)).toEqual([]);
    expect(runOrch(repository, ['status']).stdout).not.toContain('hook');
  });

  it('does not disturb the agent either where what lets its calls pass cannot be removed', () => {
    const repository = makeRepositoryWithCommit();
    const own = { ORCH_EPIC: 'x', CLAUDE_CODE_SESSION_ID: 'agent-1', ...noon };
    const { call } = makeAgent(repository, 'agent-1', own);
    call('UserPromptSubmit', { prompt: 'Begin' });
    const far = join(repository.folder, '.git', 'orchestration', 'calm', 'agent-1.far');
    rmSync(far);
    mkdirSync(far);
    expect(call('PostToolUse', wrote(repository, 'a.ts'))).toBeNull();
    expect(faultsOf(repository, noon)).toMatchObject([{ event: 'tool', count: 1 }]);
    rmSync(far, { recursive: true });
    call('PostToolUse', wrote(repository, 'b.ts'));
    expect(faultsOf(repository, noon)).toEqual([]);
  });

  it('is no news after a day', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository, 'agent-1', noon);
    breakConfig(repository);
    call('UserPromptSubmit', { prompt: 'Begin' });
    expect(faultsOf(repository, { ORCH_NOW: '2026-11-17T11:59:00Z' })).toHaveLength(1);
    expect(faultsOf(repository, { ORCH_NOW: '2026-11-17T12:00:00Z' })).toEqual([]);
  });

  it('is told of also where the fault is a setting that keeps orch from opening the repository', () => {
    const repository = makeRepositoryWithCommit();
    const { call } = makeAgent(repository, 'agent-1', { ORCH_ENGINE: 'steam' });
    expect(call('Stop', { last_assistant_message: 'Done' })).toBeNull();
    expect(faultsOf(repository)).toMatchObject([
      { event: 'stop', message: expect.stringContaining('ORCH_ENGINE') },
    ]);
  });

  it.each(['', '{', '[1]', 'null', '[null, {"at": 3}]'])('reads a damaged file %j as no faults', (text) => {
    const repository = makeRepositoryWithCommit();
    const home = join(repository.folder, '.git', 'orchestration');
    mkdirSync(home);
    writeFileSync(join(home, 'hook-faults.json'), text);
    expect(faultsOf(repository)).toEqual([]);
    const { call } = makeAgent(repository, 'agent-1', { ORCH_ENGINE: 'steam' });
    call('Stop');
    expect(faultsOf(repository)).toHaveLength(1);
  });
});
