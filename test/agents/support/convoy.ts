import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterTest } from '../../support/cleanup.ts';
import type { ConvoyDocument } from '../../support/convoys.ts';
import { orchBin, runOrch } from '../../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../../support/repository.ts';
import { writeConfig } from '../../support/supervised.ts';
import { type AnthropicTurn, startAnthropicModel } from './anthropic.ts';
import { claudeEnvironment, claudeProgram } from './claude.ts';
import { codexEnvironment, codexProgram, writeCodexConfig } from './codex.ts';
import { priceOf } from './cost.ts';
import { type OpenAiTurn, startOpenAiModel } from './openai.ts';
import { type Started, startAgent } from './ran.ts';
import type { Asked } from './script.ts';
import { until } from './until.ts';

/** A turn for the workers in whose conversation these words are. */
type For<T> = T & { readonly words: string };

type Script = {
  readonly claude?: (worktrees: string) => readonly For<AnthropicTurn>[];
  readonly codex?: (worktrees: string) => readonly For<OpenAiTurn>[];
  readonly env?: Record<string, string>;
  /** Has the user given Codex every right in its settings? They have by default. */
  readonly isCodexFree?: boolean;
  /** Gates of the repository, as its config has them; none by default. */
  readonly gates?: string;
  /** More lines of the repository's config. */
  readonly config?: string;
};

export type Staged = Awaited<ReturnType<typeof stageConvoy>>;

/** What a convoy called `auth` needs: a repository with a plan, the agents' programs, and models with these turns. */
export async function stageConvoy(plan: string, script: Script) {
  const repository = makeRepositoryWithCommit();
  const { gates } = script;
  repository.write('plan.yaml', `name: auth\nmerge: { gates: ${gates ? 'auto' : 'none'} }\n${plan}`);
  repository.git('config', 'user.name', 'A User');
  repository.git('config', 'user.email', 'user@example.com');
  const prices = 'prices:\n  gpt-5-codex: { input: 1, output: 10 }\n';
  writeConfig(repository, `${prices}${gates ? `gates: ${gates}\n` : ''}${script.config ?? ''}`);
  // A worktree has what is committed.
  repository.git('add', '.orchestration');
  repository.git('commit', '--quiet', '--message', 'config');
  runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']);
  const worktrees = `${repository.folder}.orch/auth`;
  const [claude, codex] = await Promise.all([
    startAnthropicModel((script.claude?.(worktrees) ?? []).map(forWords)),
    startOpenAiModel((script.codex?.(worktrees) ?? []).map(forWords)),
  ]);
  writeCodexConfig(repository, { url: codex.url, isFree: script.isCodexFree ?? true });
  const programs = join(repository.home, 'programs');
  mkdirSync(programs);
  for (const [name, program] of [
    ['claude', claudeProgram],
    ['codex', codexProgram],
    ['orch', orchBin],
  ] as const)
    if (program !== null) symlinkSync(program, join(programs, name));
  const { PATH, ...env } = claudeEnvironment(repository, {
    url: claude.url,
    env: { IS_SANDBOX: '1', ...script.env },
  });
  const environment = {
    ...codexEnvironment(repository, { url: codex.url }),
    ...env,
    PATH: `${programs}:${PATH}`,
  };
  afterTest(() => endWorkers(repository, environment));
  return { repository, claude, codex, worktrees, environment };
}

function forWords<T extends object>({ words, ...turn }: For<T>) {
  return { ...turn, when: (asked: Asked) => isFor(asked, words) };
}

/** Is this a request of a conversation in which these words are? Requests for titles and the like bring no tools. */
export function isFor({ body }: Asked, words: string): boolean {
  // A worker is told what others do, a line each.
  const said = (JSON.stringify(body?.messages ?? body?.input) ?? '').replaceAll(/\\n- [^\\]*/g, '');
  return Array.isArray(body?.tools) && body.tools.length > 0 && said.includes(words);
}

/** Workers have supervisors of their own, which a scheduler that was killed leaves behind. */
function endWorkers(repository: TestRepository, env: Record<string, string>): void {
  runOrch(repository, ['convoy', 'pause', 'auth'], { env });
}

/** Starts a command about the convoy; it goes on until it is ended, at the latest after the test. */
export function startConvoy({ repository, environment }: Staged, ...args: readonly string[]): Started {
  return startAgent(process.execPath, [orchBin, 'convoy', ...args], {
    cwd: repository.folder,
    env: environment,
  });
}

/** Runs a command about the convoy that prints it, to its end. */
export async function runConvoy(staged: Staged, ...args: readonly string[]) {
  const ran = await startConvoy(staged, ...args, '--json').ended;
  return { ...ran, document: JSON.parse(ran.stdout || 'null') as ConvoyDocument };
}

/** Runs any command of orch to its end. */
export function orch({ repository, environment }: Staged, ...args: readonly string[]) {
  return runOrch(repository, args, { env: environment });
}

/** How the convoy is now; null before it has begun. */
export function showConvoy(staged: Staged): ConvoyDocument['convoy'] | null {
  const { status, stdout } = orch(staged, 'convoy', 'show', 'auth', '--json', '--all');
  return status === 0 ? (JSON.parse(stdout) as ConvoyDocument).convoy : null;
}

export function taskOf(convoy: ConvoyDocument['convoy'] | null, id: string) {
  return convoy?.tasks.find((task) => task.id === id);
}

/** Waits until something is so of the convoy. */
export function untilConvoy(
  staged: Staged,
  holds: (convoy: ConvoyDocument['convoy']) => boolean,
): Promise<void> {
  let last: ConvoyDocument['convoy'] | null = null;
  return until(
    () => {
      last = showConvoy(staged);
      return last !== null && holds(last);
    },
    () => JSON.stringify(last, null, 1),
  );
}

type Session = { readonly id: string; readonly status: string };

/** The sessions of a task, oldest first. */
export function listSessions(staged: Staged, task: string): readonly Session[] {
  return JSON.parse(orch(staged, 'log', `auth--${task}`, '--json').stdout).sessions;
}

/** The supervisor of a task's worker. */
export function workerPid(staged: Staged, task: string): number {
  const session = listSessions(staged, task).find(({ status }) => status === 'running');
  const live = join(staged.repository.folder, '.git', 'orchestration', 'live', `${session?.id}.json`);
  return JSON.parse(readFileSync(live, 'utf8')).holder.pid;
}

/** What the models' answers cost, by the prices of Sonnet 4.5 and the configured ones. */
export function spentOn({ claude, codex }: Pick<Staged, 'claude' | 'codex'>): number {
  const used = codex.given.map(({ input_tokens, output_tokens }) => input_tokens + output_tokens * 10);
  return priceOf(claude.given) + used.reduce((sum, each) => sum + each, 0) / 1_000_000;
}
