import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OrchError } from '../errors.ts';
import { sleep } from '../system/clock.ts';
import { startCommand } from '../system/command.ts';
import { makeFolder, readIfThere, realDisk, realPath, writeAtomically } from '../system/files.ts';
import { isInstalled } from '../system/spawn.ts';
import { endTree } from '../system/tree.ts';
import type { Context } from './run.ts';

/** What is told, as if somebody typed it: real commands, real processes, a real repository. */
type Stage = {
  readonly folder: string;
  /** Runs orch or git, shows what was typed and what came of it, and gives the status. */
  run(typed: string, argv: readonly string[]): Promise<number>;
  type(typed: string): void;
  show(text: string): void;
  say(text: string): Promise<void>;
};

const epic = 'login';
/** The agent says this when it is in the middle of something. */
const inTheMiddle = 'in the handler';

const files: { readonly [path: string]: string } = {
  'README.md': '# A shop\n',
  '.orchestration/config.yaml': 'checkpoint:\n  interval: 2s\n',
};

/** Plays it: a session works, is killed, is resumed with its brief, meets its budget; and git tells the story. */
export async function tellStory(context: Context): Promise<number> {
  const { out } = context;
  if (!isInstalled('git'))
    throw new OrchError('GIT_FAILED', 'the demo needs git, which was not found', { hint: 'Install git' });
  const stage = await setStage(context);
  const { say, run, folder } = stage;
  const agent = ['--', process.execPath, 'agent.mjs'];
  const orch = (...args: string[]) => [process.execPath, process.argv[1] ?? '', ...args];

  await say('An agent works on an epic, with one dollar to spend. orch watches over it.');
  stage.type(`orch start -e ${epic} --budget 1 -- node agent.mjs`);
  await killInTheMiddle(stage, orch('start', '-e', epic, '--budget', '1', ...agent));

  await say('What was recorded is on disk. Nothing has to be repaired.');
  await run('orch status', orch('status'));
  await say('The next agent gets a brief, goes on where the first one was, and stops at the budget.');
  await run(`orch brief -e ${epic}`, orch('brief', '-e', epic));
  const status = await run(`orch resume -e ${epic} -- node agent.mjs`, orch('resume', '-e', epic, ...agent));
  out.print(out.paint('dim', `  exit ${status}`));
  if (status !== 4) throw new Error(`the demo's budget was to stop the agent, and it ended with ${status}`);

  await say('All of it is plain git, beside your branches. Your own history and index are as they were.');
  await run(`git log --oneline orchestration/epics/${epic}`, [
    'git',
    'log',
    '--oneline',
    `orchestration/epics/${epic}`,
  ]);
  await run('git log --oneline --branches', ['git', 'log', '--oneline', '--branches']);
  await run('git status --short', ['git', 'status', '--short']);
  out.print(`\nThat was a real repository: ${out.paint('bold', folder)} (kept; look at it with git log).`);
  out.print('Use it in your own:');
  out.print('  npm install -g .          (in this folder: makes `orch` a command)');
  out.print('  cd your/repository');
  out.print('  orch init                 (Claude Code and Codex; then work as always)');
  out.print('  orch start --epic my-feature --budget 5 -- your-agent');
  out.print('  orch status · orch log · orch diff · orch restore · orch resume');
  return 0;
}

async function setStage({ out }: Context): Promise<Stage> {
  const folder = realPath(mkdtempSync(join(tmpdir(), 'orch-demo-')));
  const templates = join(dirname(dirname(realPath(process.argv[1] ?? ''))), 'templates');
  const agent = readIfThere(join(templates, 'demo-agent.mjs'));
  if (agent === null) throw new Error(`demo-agent.mjs is missing in ${templates}`);
  for (const [path, text] of [...Object.entries(files), ['agent.mjs', agent.toString('utf8')]] as const) {
    await makeFolder(realDisk, dirname(join(folder, path)));
    await writeAtomically(realDisk, join(folder, path), Buffer.from(text), 'demo');
  }
  const quietly = async (...args: string[]) => {
    const named = ['-c', 'user.name=demo', '-c', 'user.email=demo@localhost', '-c', 'commit.gpgSign=false'];
    const status = await play(folder, ['git', ...named, '-c', 'core.hooksPath=/dev/null', ...args], () => {});
    if (status !== 0) throw new Error(`git ${args[0]} ended with ${status}`);
  };
  await quietly('init', '--quiet', '--initial-branch=main', '.');
  await quietly('add', '.');
  await quietly('commit', '--quiet', '--message', 'The shop');
  const show = (text: string) => out.print(text.replace(/^/gm, '  '));
  const type = (typed: string) => out.print(out.paint('cyan', `$ ${typed}`));
  return {
    folder,
    say: async (text) => {
      await sleep(500);
      out.print(`\n${out.paint('bold', text)}`);
      await sleep(300);
    },
    run: async (typed, argv) => {
      type(typed);
      return play(folder, argv, show);
    },
    type,
    show,
  };
}

/** Runs a command, and hands over what it prints, whole lines at a time. */
async function play(
  cwd: string,
  argv: readonly string[],
  onLines: (text: string) => void,
  onStart: (pid: number) => void = () => {},
): Promise<number> {
  let rest = '';
  const { pid, exited, drained } = await startCommand(argv, {
    cwd,
    env: cleanEnvironment(),
    onOutput: (chunk) => {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      if (lines.length > 0) onLines(lines.join('\n'));
    },
  });
  onStart(pid);
  const { status } = await exited;
  await drained;
  if (rest !== '') onLines(rest);
  return status ?? 1;
}

/** Nothing of the user's session or git reaches the demo's repository. */
function cleanEnvironment(): { [name: string]: string | undefined } {
  const names = Object.keys(process.env).filter((name) => /^(ORCH_|GIT_|CLAUDECODE$)/.test(name));
  const removed = Object.fromEntries(names.map((name) => [name, undefined]));
  return { ...removed, DEMO_ORCH: process.argv[1], COLUMNS: '100' };
}

/** Starts a session, and in the middle of its work kills it with all that belongs to it, as a power cut would. */
async function killInTheMiddle({ show, folder }: Stage, argv: readonly string[]): Promise<void> {
  let orch = 0;
  let killed: Promise<unknown> | null = null;
  const onLines = (text: string) => {
    show(text);
    if (text.includes(inTheMiddle)) killed ??= cutPower(orch);
  };
  await play(folder, argv, onLines, (pid) => {
    orch = pid;
  });
  if (killed === null) throw new Error('the demo was to be killed in the middle, and ended before');
  await killed;
  show(`kill -9 ${orch}`);
}

async function cutPower(pid: number): Promise<void> {
  await sleep(300);
  await endTree(pid, { signals: [{ signal: 'SIGKILL', grace: 5_000 }] });
}
