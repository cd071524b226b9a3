import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, type TestRepository } from '../../support/repository.ts';
import { programOf } from '../versions.mjs';
import { parseLines, type Started, startAgent } from './ran.ts';

/** The real Claude Code, or null where it could not be had: then its tests are skipped. */
export const claudeProgram = programOf('claude');

export type ClaudeOptions = {
  /** The address of the stand-in for its model. */
  readonly url: string;
  /** More arguments, such as `--resume <id>`. */
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly model?: string;
  readonly permissionMode?: string;
};

/** The surroundings in which Claude Code talks to the stand-in and to nobody else. */
export function claudeEnvironment(repository: TestRepository, { url, env }: ClaudeOptions) {
  const temporary = join(repository.home, 'tmp');
  mkdirSync(temporary, { recursive: true });
  return cleanEnvironment(repository.home, {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'x',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    // It keeps sockets and subagents' output there, which nobody would take away.
    TMPDIR: temporary,
    CLAUDE_CODE_TMPDIR: temporary,
    // A refused request is tried again at once, and not for minutes.
    CLAUDE_CODE_MAX_RETRIES: '1',
    ...env,
  });
}

/** The arguments of both kinds of run. */
export function claudeArguments({ model, permissionMode, args }: ClaudeOptions): string[] {
  return [
    ...['--model', model ?? 'claude-sonnet-4-5'],
    ...['--permission-mode', permissionMode ?? 'acceptEdits'],
    ...(args ?? []),
  ];
}

/** Starts Claude Code headless. */
export function startClaude(repository: TestRepository, prompt: string, options: ClaudeOptions): Started {
  const stream = ['-p', prompt, '--output-format', 'stream-json', '--verbose'];
  return startAgent(claudeProgram ?? 'claude', [...stream, ...claudeArguments(options)], {
    cwd: repository.folder,
    env: claudeEnvironment(repository, options),
  });
}

/** Runs Claude Code headless to its end; `lines` is what it printed, `result` the last of them. */
export async function runClaude(repository: TestRepository, prompt: string, options: ClaudeOptions) {
  const ended = await startClaude(repository, prompt, options).ended;
  const lines = parseLines(ended.stdout);
  return { ...ended, lines, result: lines.findLast(({ type }) => type === 'result') };
}

/** The folder in which Claude Code keeps the transcripts of a repository. */
export function transcriptsOf({ home, folder }: TestRepository): string {
  return join(home, '.claude', 'projects', folder.replace(/[^a-zA-Z0-9]/g, '-'));
}

/** The transcripts of a repository, those of subagents too, the oldest first: their paths, and their lines. */
export function readTranscripts(repository: TestRepository) {
  const folder = transcriptsOf(repository);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort((one, other) => statSync(one).birthtimeMs - statSync(other).birthtimeMs)
    .map((path) => ({ path, lines: parseLines(readFileSync(path, 'utf8')) }));
}
