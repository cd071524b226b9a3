// Stands in for Claude Code where the commands in the documents are run: it writes the same transcript, calls the hooks
// in its settings, and does one small piece of work for its prompt.
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const args = process.argv.slice(2);
if (args.includes('--version')) {
  console.log('2.1.325 (Claude Code)');
  process.exit(0);
}
const readOption = (name) => args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);
const prompt = args[args.indexOf('-p') + 1] ?? '';
const cwd = process.cwd();
const id = readOption('--resume') ?? readOption('--session-id') ?? randomUUID();
const project = join(process.env.HOME, '.claude', 'projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'));
const transcript = join(project, `${id}.jsonl`);
const settings = join(cwd, '.claude', 'settings.local.json');
const { hooks = {} } = existsSync(settings) ? JSON.parse(readFileSync(settings, 'utf8')) : {};

function callHooks(event, fields) {
  const input = JSON.stringify({
    session_id: id,
    transcript_path: transcript,
    cwd,
    hook_event_name: event,
    ...fields,
  });
  const env = {
    ...process.env,
    CLAUDECODE: '1',
    CLAUDE_PID: String(process.pid),
    CLAUDE_PROJECT_DIR: cwd,
    CLAUDE_CODE_SESSION_ID: id,
  };
  for (const { command } of (hooks[event] ?? []).flatMap((group) => group.hooks))
    spawnSync('sh', ['-c', command], { input, env, stdio: ['pipe', 'ignore', 'ignore'] });
}

/** A million output tokens of Sonnet cost fifteen dollars. */
function spend(tokens) {
  const message = {
    id: `msg_${randomUUID()}`,
    model: 'claude-sonnet-4-5',
    usage: { input_tokens: 0, output_tokens: tokens },
  };
  const timestamp = process.env.ORCH_NOW ?? new Date().toISOString();
  const line = { type: 'assistant', requestId: message.id, sessionId: id, timestamp, message };
  appendFileSync(transcript, `${JSON.stringify(line)}\n`);
}

function write(path, text) {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  appendFileSync(join(cwd, path), text);
  callHooks('PostToolUse', {
    tool_name: 'Write',
    tool_input: { file_path: join(cwd, path), content: text },
    tool_response: { type: 'create', structuredPatch: [] },
  });
}

/** Otherwise it would depend on luck which of two costs orch sees first. */
async function waitForCheckpoint(subject) {
  const ref = `orchestration/epics/${process.env.ORCH_EPIC}`;
  const read = () => spawnSync('git', ['log', '-1', '--format=%s', ref], { encoding: 'utf8' }).stdout;
  while (!read().includes(subject)) await sleep(100);
}

mkdirSync(project, { recursive: true });
callHooks('SessionStart', { source: readOption('--resume') ? 'resume' : 'startup' });
callHooks('UserPromptSubmit', { prompt });
let answer = 'Done.';
if (prompt.includes('login')) {
  spend(28_000);
  write('src/login.js', 'export function redirect() {\n  return "/home";\n}\n');
  answer = 'Login redirects to /home now; logout is left.';
} else if (prompt.includes('driver')) {
  write('src/pool.js', 'export const driver = "new";\n');
  spend(28_000);
  await waitForCheckpoint('of the budget');
  spend(14_000);
  await sleep(600_000); // orch stops it
}
callHooks('Stop', { last_assistant_message: answer });
callHooks('SessionEnd', { reason: 'prompt_input_exit' });
console.log(answer);
