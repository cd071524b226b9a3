import { addOrch } from '../../../src/agents/claude/claude-settings.ts';
import { orchBin, orchJson } from '../../support/orch.ts';
import type { TestRepository } from '../../support/repository.ts';
import { type ClaudeOptions, claudeArguments, claudeEnvironment, claudeProgram } from './claude.ts';
import { type CodexOptions, codexEnvironment, codexProgram, writeCodexConfig } from './codex.ts';
import { writeClaudeSettings } from './hooks.ts';
import { type Ended, type Started, startAgent } from './ran.ts';

/** Starts Claude Code headless under an orch: `orch` is what stands before `--`. */
export function startOrchClaude(
  repository: TestRepository,
  orch: readonly string[],
  prompt: string,
  options: ClaudeOptions,
): Started {
  const stream = ['-p', prompt, '--output-format', 'stream-json', '--verbose'];
  const words = [claudeProgram ?? 'claude', ...stream, ...claudeArguments(options)];
  return startAgent(process.execPath, [orchBin, ...orch, '--', ...words], {
    cwd: repository.folder,
    env: claudeEnvironment(repository, options),
  });
}

/** The same for `codex exec`. */
export function runOrchCodex(
  repository: TestRepository,
  orch: readonly string[],
  prompt: string,
  options: CodexOptions,
): Promise<Ended> {
  writeCodexConfig(repository, options);
  const words = [codexProgram ?? 'codex', 'exec', '--json', ...(options.args ?? []), prompt];
  return startAgent(process.execPath, [orchBin, ...orch, '--', ...words], {
    cwd: repository.folder,
    env: codexEnvironment(repository, options),
  }).ended;
}

/** Writes orch's hooks into the user's own settings of a repository, as `orch init` does. */
export function installHooks(repository: TestRepository, more: object = {}): void {
  const command = [process.execPath, orchBin];
  const settings = addOrch(null, { command, shared: false, version: '2.1.325' });
  if ('problem' in settings) throw new Error(JSON.stringify(settings.problem));
  writeClaudeSettings(repository, { ...JSON.parse(settings.text), ...more });
}

type EpicStatus = {
  readonly session: { readonly number: number; readonly status: string; readonly costUsd: number };
  readonly budget: { readonly spentUsd: number };
  readonly checkpoint: { readonly gates: string };
  readonly epicId: string;
};

export function statusOf(repository: TestRepository, epic: string): EpicStatus {
  return orchJson<EpicStatus>(repository, ['session', 'status', '-e', epic]);
}
