import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, type TestRepository } from '../../support/repository.ts';
import { programOf } from '../versions.mjs';
import { parseLines, type Started, startAgent } from './ran.ts';

/** The real Codex, or null where it could not be had: then its tests are skipped. */
export const codexProgram = programOf('codex');

export type CodexOptions = {
  /** The address of the stand-in for its model. */
  readonly url: string;
  /** Arguments before the prompt, such as `resume <id>`. */
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** More tables of `config.toml`. */
  readonly config?: string;
  /** May it do anything? By default. */
  readonly isFree?: boolean;
};

/** Writes Codex's settings, with the stand-in as the only model it knows. */
export function writeCodexConfig(
  repository: TestRepository,
  { url, config, isFree = true }: CodexOptions,
): void {
  mkdirSync(join(repository.home, '.codex'), { recursive: true });
  const text = `model = "gpt-5-codex"
model_provider = "mock"
${isFree ? 'approval_policy = "never"\nsandbox_mode = "danger-full-access"' : ''}
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "${url}"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 1
stream_max_retries = 1

# Each of these looks for its server at the start, and waits five seconds in vain.
[features]
apps = false
plugins = false

[analytics]
enabled = false

${config ?? ''}`;
  writeFileSync(join(repository.home, '.codex', 'config.toml'), text);
}

/** The surroundings in which Codex talks to the stand-in and to nobody else. */
export function codexEnvironment(repository: TestRepository, { env }: CodexOptions) {
  return cleanEnvironment(repository.home, { MOCK_KEY: 'x', ...env });
}

/** Starts `codex exec --json`. */
export function startCodex(repository: TestRepository, prompt: string, options: CodexOptions): Started {
  writeCodexConfig(repository, options);
  return startAgent(codexProgram ?? 'codex', ['exec', '--json', ...(options.args ?? []), prompt], {
    cwd: repository.folder,
    env: codexEnvironment(repository, options),
  });
}

/** Runs `codex exec --json` to its end; `lines` is what it printed. */
export async function runCodex(repository: TestRepository, prompt: string, options: CodexOptions) {
  const ended = await startCodex(repository, prompt, options).ended;
  return { ...ended, lines: parseLines(ended.stdout) };
}

/** The files in which Codex keeps its conversations: their paths, and their lines. */
export function readRollouts({ home }: TestRepository) {
  const folder = join(home, '.codex', 'sessions');
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { path, lines: parseLines(readFileSync(path, 'utf8')) };
    });
}
