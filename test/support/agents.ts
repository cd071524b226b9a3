import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRepository } from './repository.ts';

/**
 * A program that writes the files the agent of its name writes, and does what a script of lines tells it:
 * `spend <output tokens>`, `limit <seconds until the reset, or ->`, `hang`, `hook <event> <source>`, `brief` (keeps what
 * its brief's file holds), `exit <status>`.
 * Each start takes the next line group of the script (they are parted by empty lines).
 */
const source = `#!/usr/bin/env node
const { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, readdirSync } = require('node:fs');
const { basename, dirname, join } = require('node:path');
const { spawnSync } = require('node:child_process');
const home = process.env.HOME;
const args = process.argv.slice(2);
const name = basename(process.argv[1]);
const stage = join(home, name + '-stage');
mkdirSync(stage, { recursive: true });
const run = readdirSync(stage).filter((each) => each.startsWith('run-')).length;
writeFileSync(join(stage, 'run-' + run), JSON.stringify(args));
const after = (flag) => args.find((each) => each.startsWith(flag + '='))?.slice(flag.length + 1) ?? (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined);
let id, transcript;
if (name === 'claude') {
  id = after('--session-id') ?? after('--resume') ?? 'aaaaaaaa-0000-4000-8000-000000000000';
  transcript = join(home, '.claude', 'projects', process.cwd().replace(/[^a-zA-Z0-9]/g, '-'), id + '.jsonl');
  if (after('--session-id') && existsSync(transcript)) { console.error('already in use'); process.exit(7); }
} else {
  id = after('resume') ?? 'bbbbbbbb-0000-7000-8000-00000000000' + run;
  transcript = join(home, '.codex', 'sessions', '2026', '11', '16', 'rollout-2026-11-16T00-00-0' + run + '-' + id + '.jsonl');
  const old = existsSync(dirname(transcript)) && readdirSync(dirname(transcript)).find((each) => each.includes(id));
  if (old) transcript = join(dirname(transcript), old);
}
mkdirSync(dirname(transcript), { recursive: true });
const write = (line) => appendFileSync(transcript, JSON.stringify(line) + '\\n');
if (name === 'codex' && !existsSync(transcript)) {
  write({ type: 'session_meta', payload: { id, session_id: id, cwd: process.cwd() } });
  write({ type: 'turn_context', payload: { model: process.env.FAKE_MODEL ?? 'claude-sonnet-4-5' } });
}
let total = 0;
const steps = readFileSync(join(home, name + '.script'), 'utf8').split('\\n\\n')[run]?.split('\\n') ?? [];
let count = 0;
(async () => {
  for (const step of steps) {
    const [what, value, more] = step.trim().split(' ');
    if (what === 'spend' && name === 'claude')
      write({ type: 'assistant', requestId: 'r-' + run + '-' + ++count, sessionId: id, message: {
        id: 'm-' + run + '-' + count, model: 'claude-sonnet-4-5', usage: { input_tokens: 0, output_tokens: Number(value) } } });
    if (what === 'spend' && name === 'codex') {
      total += Number(value);
      write({ type: 'event_msg', payload: { type: 'token_count', info: { total_token_usage: { input_tokens: 0, output_tokens: total } } } });
    }
    if (what === 'limit' && name === 'claude')
      write({ type: 'assistant', isApiErrorMessage: true, error: 'rate_limit', message: { id: 'e', model: '<synthetic>', usage: {} },
        ...(value === '-' ? {} : { quotaLimits: { resetsAt: Math.floor(Date.now() / 1000) + Number(value) } }) });
    if (what === 'limit' && name === 'codex') {
      write({ type: 'event_msg', payload: { type: 'token_count', rate_limits: { primary: { used_percent: 100, resets_at: Math.floor(Date.now() / 1000) + Number(value) } } } });
      write({ type: 'event_msg', payload: { type: 'task_complete', error: { codex_error_info: { response_too_many_failed_attempts: { http_status_code: 429 } } } } });
    }
    if (what === 'hook') {
      const input = JSON.stringify({ session_id: id, transcript_path: transcript, cwd: process.cwd(), hook_event_name: value, source: more });
      const ran = spawnSync(process.execPath, [process.env.ORCH_BIN, 'hook', name], { input, encoding: 'utf8' });
      appendFileSync(join(stage, 'hooks'), ran.stdout);
    }
    if (what === 'print') console.log(value);
    if (what === 'brief') writeFileSync(join(stage, 'brief'), readFileSync(process.env.ORCH_BRIEF_FILE));
    if (what === 'exit') process.exit(Number(value));
    if (what === 'hang') { writeFileSync(join(stage, 'hangs'), 'yes\\n'); await new Promise(() => setInterval(() => {}, 1000)); }
  }
})();
`;

export type FakeAgent = {
  readonly program: string;
  /** The arguments of its starts. */
  starts(): string[][];
  readonly stage: string;
};

/** Puts a small program in an agent's place that writes the agent's files; `runs` says what each start of it does. */
export function makeFakeAgent(
  repository: TestRepository,
  name: 'claude' | 'codex',
  ...runs: string[][]
): FakeAgent {
  const program = join(repository.home, 'bin', name);
  mkdirSync(join(repository.home, 'bin'), { recursive: true });
  writeFileSync(program, source.replace('/usr/bin/env node', process.execPath));
  chmodSync(program, 0o755);
  writeFileSync(join(repository.home, `${name}.script`), runs.map((lines) => lines.join('\n')).join('\n\n'));
  const stage = join(repository.home, `${name}-stage`);
  const starts = () => runs.flatMap((_, index) => readStart(join(stage, `run-${index}`)));
  return { program, starts, stage };
}

function readStart(path: string): string[][] {
  try {
    return [JSON.parse(readFileSync(path, 'utf8'))];
  } catch {
    return [];
  }
}
