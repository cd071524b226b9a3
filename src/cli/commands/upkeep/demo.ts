import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OrchError } from '../../../errors.ts';
import { realRandom, sleep } from '../../../system/clock.ts';
import { readIfThere, realDisk, realPath, writeAtomically } from '../../../system/disk.ts';
import { startCommand } from '../../../system/process/command.ts';
import { endTree } from '../../../system/process/process-tree.ts';
import { isInstalled } from '../../../system/process/spawn.ts';
import { type Context, defineCommand } from '../../run-command.ts';

export const command = defineCommand({
  summary: 'ten seconds in a throw-away repository',
  description: 'Show in ten seconds, in a throw-away repository, how work survives when an agent is killed.',
  options: [],
  examples: ['orch demo'],
  run: async (context) => {
    if (context.json) throw new OrchError('USAGE', 'the demo has no JSON output', { hint: 'Run: orch demo' });
    return playDemo(context);
  },
});

/** Runs and prints what a user would type: real commands, real processes, a real repository. */
type Stage = {
  readonly folder: string;
  /** Runs orch or git, prints the command and its output, and returns the status. */
  run(typed: string, argv: readonly string[]): Promise<number>;
  type(typed: string): void;
  show(text: string): void;
  explain(text: string): Promise<void>;
};

const epic = 'login';
/** The agent prints this while it is working. */
const inTheMiddle = 'in the handler';

const files: { readonly [path: string]: string } = {
  'README.md': '# A shop\n',
  '.orchestration/config.yaml': 'checkpoint:\n  interval: 2s\n',
};

/** Runs the demo: a session works, is killed, resumes with its brief and reaches its budget; git shows the history. */
async function playDemo(context: Context): Promise<number> {
  const { out } = context;
  if (!isInstalled('git'))
    throw new OrchError('GIT_FAILED', 'the demo needs git, which is not installed', { hint: 'Install git' });
  const stage = await setStage(context);
  const { explain, run, folder } = stage;
  const agent = ['--', process.execPath, 'agent.mjs'];
  const orch = (...args: string[]) => [process.execPath, process.argv[1] ?? '', ...args];

  await explain('An agent works on an epic with a budget of one dollar. orch supervises it.');
  stage.type(`orch start -e ${epic} --budget 1 -- node agent.mjs`);
  await killInTheMiddle(stage, orch('start', '-e', epic, '--budget', '1', ...agent));

  await explain('Everything recorded is on disk. Nothing needs repair.');
  await run('orch status', orch('status'));
  await explain(
    'The next agent gets a brief, continues where the first one stopped, and ends at the budget.',
  );
  await run(`orch brief -e ${epic}`, orch('brief', '-e', epic));
  const status = await run(`orch resume -e ${epic} -- node agent.mjs`, orch('resume', '-e', epic, ...agent));
  out.print(out.paint('dim', `  exit ${status}`));
  if (status !== 4) throw new Error(`the budget should have stopped the agent, but it ended with ${status}`);

  await explain('All of it is plain git, beside your branches. Your own history and index are unchanged.');
  await run(`git log --oneline orchestration/epics/${epic}`, [
    'git',
    'log',
    '--oneline',
    `orchestration/epics/${epic}`,
  ]);
  await run('git log --oneline --branches', ['git', 'log', '--oneline', '--branches']);
  await run('git status --short', ['git', 'status', '--short']);
  out.print(`\nThat was a real repository: ${out.paint('bold', folder)} (kept; look with git log).`);
  out.print('Use it in your own:');
  out.print('  npm install -g .          (in this folder; installs the orch command)');
  out.print('  cd your/repository');
  out.print('  orch init                 (connects Claude Code and Codex)');
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
    await writeAtomically({ disk: realDisk, random: realRandom }, join(folder, path), text);
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
    explain: async (text) => {
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

/** Runs a command and passes on its output, whole lines at a time. */
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

/** Keeps the user's own session and git settings out of the demo's repository. */
function cleanEnvironment(): { [name: string]: string | undefined } {
  const names = Object.keys(process.env).filter((name) => /^(ORCH_|GIT_|CLAUDECODE$)/.test(name));
  const removed = Object.fromEntries(names.map((name) => [name, undefined]));
  return { ...removed, DEMO_ORCH: process.argv[1], COLUMNS: '100' };
}

/** Starts a session, and kills it with all its processes while it works, as a power cut would. */
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
  if (killed === null) throw new Error('the demo should have been killed while working, but it ended first');
  await killed;
  show(`kill -9 ${orch}`);
}

async function cutPower(pid: number): Promise<void> {
  await sleep(300);
  await endTree(pid, { signals: [{ signal: 'SIGKILL', grace: 5_000 }] });
}
