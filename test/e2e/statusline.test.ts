import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addOrch } from '../../src/agents/claude/claude-settings.ts';
import { readFixture } from '../support/fixtures.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';

const filled = JSON.parse(readFixture('claude/statusline/filled.json'));
const agentSession: string = filled.session_id;
const env = { CLAUDE_PID: String(process.pid), ORCH_EPIC: 'x' };

function callHook(repository: TestRepository, event: string, fields: object): void {
  const transcript = join(repository.home, 'transcript.jsonl');
  const call = { session_id: agentSession, transcript_path: transcript, cwd: repository.folder };
  const input = JSON.stringify({ ...call, hook_event_name: event, ...fields });
  expect(runOrch(repository, ['hook', 'claude'], { input, env }).status).toBe(0);
}

/** What Claude Code would show, with so many tokens in the window. */
function showLine(
  repository: TestRepository,
  tokens = 150_000,
  args: readonly string[] = [],
  cwd = repository.folder,
) {
  const usage = { ...filled.context_window.current_usage, input_tokens: tokens };
  const window = { ...filled.context_window, current_usage: usage };
  const input = JSON.stringify({ ...filled, workspace: { current_dir: cwd }, context_window: window });
  const ran = runOrch(repository, ['statusline', ...args], { input, env });
  expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: '' });
  return ran.stdout;
}

/** The arguments `orch init` gives orch where there was a status line before. */
function chain(command: string): string[] {
  const theirs = JSON.stringify({ statusLine: { type: 'command', command } });
  const added = addOrch(theirs, { command: ['orch'], shared: false, version: null });
  if ('problem' in added) throw new Error(added.problem);
  const line: string = JSON.parse(added.text).statusLine.command;
  return line.split(' ').slice(2);
}

function begin(): TestRepository {
  const repository = makeRepositoryWithCommit();
  writeFileSync(join(repository.home, 'transcript.jsonl'), '');
  callHook(repository, 'SessionStart', { source: 'startup' });
  return repository;
}

const pendingOf = (repository: TestRepository) =>
  orchJson<{ pendingEvents: number; context: { tier: string; source: string } | null }>(repository, [
    'session',
    'status',
    '-e',
    'x',
  ]);

it('shows epic, session, money, tier and the age of the last checkpoint, and keeps what is new about the window', () => {
  const repository = begin();
  expect(showLine(repository)).toBe('x · $0.00 · context 75% · nothing saved\n');
  callHook(repository, 'UserPromptSubmit', { prompt: 'Begin' });
  expect(showLine(repository)).toMatch(/^x s1 · \$0\.00 · context 75% · saved (now|\d+s ago)\n$/);
  const { context, pendingEvents } = pendingOf(repository);
  expect(context).toMatchObject({ tier: 'WARNING', source: 'agent', tokens: 150_000 });
  expect(pendingEvents).toBe(1);
  showLine(repository, 151_000); // the same tier: nothing to record
  expect(pendingOf(repository).pendingEvents).toBe(1);
  showLine(repository, 170_000);
  const { checkpoints } = orchJson<{ checkpoints: { trigger: string }[] }>(repository, [
    'checkpoint',
    'list',
    'x',
  ]);
  expect(checkpoints.map(({ trigger }) => trigger)).toEqual(['context_tier', 'session_start']);
});

it("shows the user's own line first, whatever that does", () => {
  const repository = begin();
  const ours = 'x · $0.00 · context 75% · nothing saved\n';
  // It gets what Claude Code said, on its own stdin.
  const reads = `node -e "process.stdin.on('data', (d) => console.log(JSON.parse(d).model.display_name))"`;
  expect(showLine(repository, 150_000, chain(reads))).toBe(`Sonnet 4.5\n${ours}`);
  expect(showLine(repository, 150_000, chain('printf two; exit 3'))).toBe(`two\n${ours}`);
  expect(showLine(repository, 150_000, chain('no-such-program'))).toBe(ours);
  expect(showLine(repository, 150_000, ['--then=%%%'])).toBe(ours);
  expect(showLine(repository, 150_000, chain('echo mine'), repository.home)).toBe('mine\n');
});

it("does not wait for a user's own line that hangs, and leaves nothing of it running", () => {
  const repository = begin();
  expect(showLine(repository, 150_000, chain('echo $$ > pid; echo early; sleep 600'))).toMatch(/^early\nx /);
  const pid = readFileSync(join(repository.folder, 'pid'), 'utf8').trim();
  // Gone, or dead and not fetched yet by whoever inherits it.
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-g', pid], { encoding: 'utf8' });
  expect(stdout.replace(/^Z.*$/gm, '').trim()).toBe('');
});

it.each(['', '{', '[]', '{"session_id":"of nobody"}', 'x'.repeat(1_000_000)])(
  'prints nothing for %.20j',
  (input) => {
    const repository = begin();
    expect(runOrch(repository, ['statusline'], { input, env })).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  },
);
