import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runBareNode, runOrch, runOrchWith } from './commands.js';
import { saveHistory } from './history.js';
import { compare, measure } from './measure.js';
import { makeRepository } from './scratch.js';

const epicId = 'epic';

/** A repository with a history; without snapshots where its config says so. */
async function prepare({ snapshots }) {
  const folder = makeRepository();
  if (!snapshots) {
    mkdirSync(join(folder, '.orchestration'));
    writeFileSync(join(folder, '.orchestration', 'config.yaml'), 'checkpoint: { snapshot: false }\n');
  }
  await saveHistory(folder, epicId, 30);
  return folder;
}

/** A repository in which an agent works, and what it says of itself. */
async function prepareAgent() {
  const folder = await prepare({ snapshots: false });
  const transcript = join(folder, '..', 'bench-agent.jsonl');
  const usage = { input_tokens: 10, cache_read_input_tokens: 50_000, output_tokens: 100 };
  const line = (index) =>
    JSON.stringify({
      type: 'assistant',
      requestId: `r-${index}`,
      message: { id: `m-${index}`, model: 'claude-sonnet-4-5', usage },
    });
  writeFileSync(transcript, `${Array.from({ length: 200 }, (_, index) => line(index)).join('\n')}\n`);
  const about = { session_id: 'bench-agent', transcript_path: transcript, cwd: folder };
  const call = (event, fields) => JSON.stringify({ ...about, hook_event_name: event, ...fields });
  const tool = { tool_name: 'Write', tool_input: { file_path: join(folder, 'README'), content: 'x' } };
  const calls = {
    nothing: call('Notification', { message: 'Claude is waiting for your input' }),
    looked: call('PreToolUse', { tool_name: 'Bash', tool_input: { command: 'ls' } }),
    wrote: call('PostToolUse', { ...tool, tool_response: { type: 'update', structuredPatch: [] } }),
    status: JSON.stringify({
      ...about,
      workspace: { current_dir: folder },
      context_window: { context_window_size: 200_000, current_usage: usage },
    }),
  };
  await runOrchWith(folder, call('SessionStart', { source: 'startup' }), 'hook', 'claude');
  await runOrchWith(folder, call('UserPromptSubmit', { prompt: 'Begin' }), 'hook', 'claude');
  return { agent: folder, calls };
}

const create = ['checkpoint', 'create', '--epic', epicId, '--reason', 'One more'];

/** Whole commands from a cold start, against a node that does nothing. */
export async function run() {
  const plain = await prepare({ snapshots: false });
  const kept = await prepare({ snapshots: true });
  const running = await prepare({ snapshots: true });
  await runOrch(running, 'start', '--epic', epicId, '--background', '--no-baseline');
  const { agent, calls } = await prepareAgent();
  let edits = 0;
  const edit = () => writeFileSync(join(kept, 'README'), `hello ${++edits}\n`);
  const rows = [
    ['orch --version', () => runOrch(plain, '--version'), 1.25],
    ['orch hook, nothing to do', () => runOrchWith(agent, calls.nothing, 'hook', 'claude'), 1.4],
    ['orch hook, nothing new', () => runOrchWith(agent, calls.looked, 'hook', 'claude')],
    ['orch hook, a file changed', () => runOrchWith(agent, calls.wrote, 'hook', 'claude')],
    ['orch statusline', () => runOrchWith(agent, calls.status, 'statusline')],
    ['orch session status', () => runOrch(running, 'session', 'status'), 1.6],
    ['orch status', () => runOrch(running, 'status')],
    ['orch record note', () => runOrch(running, 'record', 'note', 'One more'), 1.6],
    ['orch brief', () => runOrch(running, 'brief')],
    ['orch checkpoint create, no snapshot', () => runOrch(plain, ...create), 2],
    ['orch checkpoint create, unchanged files', () => runOrch(running, ...create), 2.8],
    ['orch checkpoint create, a file changed', { prepare: edit, run: () => runOrch(kept, ...create) }, 2.8],
    ['orch checkpoint list', () => runOrch(plain, 'checkpoint', 'list', '--epic', epicId)],
    ['orch checkpoint show', () => runOrch(plain, 'checkpoint', 'show', '--epic', epicId)],
  ];
  const sides = Object.fromEntries(rows.map(([what, side]) => [what, side]));
  try {
    const times = await measure({ node: () => runBareNode(plain), ...sides }, { rounds: 40 });
    return rows.map(([what, , bar]) => ({
      what,
      against: 'node -e 0',
      ...compare(times[what], times.node),
      bar,
    }));
  } finally {
    await runOrch(running, 'session', 'pause', '--epic', epicId);
  }
}
