import { sleep } from '../../../../system/clock.ts';
import { endTree } from '../../../../system/process/process-tree.ts';
import type { Context } from '../../../run-command.ts';
import { orchCommand, type Scene, setStage } from './stage.ts';

const epic = 'login';
/** The agent prints this while it is working. */
const inTheMiddle = 'in the handler';

const scene: Scene = {
  files: {
    'README.md': '# A shop\n',
    '.orchestration/config.yaml': 'checkpoint:\n  interval: 2s\n',
  },
  agent: 'demo-agent.mjs',
  agentFile: 'agent.mjs',
};

/** A session works, is killed, resumes with its brief and reaches its budget; git shows the history. */
export async function playSession(context: Context): Promise<void> {
  const { out } = context;
  const { explain, run, runUntil, close } = await setStage(context, scene);
  const agent = ['--', process.execPath, 'agent.mjs'];
  const orch = orchCommand;

  await explain('An agent works on an epic with a budget of one dollar. orch supervises it.');
  const start = orch('start', '-e', epic, '--budget', '1', ...agent);
  await runUntil(`orch start -e ${epic} --budget 1 -- node agent.mjs`, start, inTheMiddle, cutPower);

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
  const log = `git log --oneline orchestration/epics/${epic}`;
  for (const typed of [log, 'git log --oneline --branches', 'git status --short'])
    await run(typed, typed.split(' '));
  close([
    'Use it in your own:',
    '  npm install -g .          (in this folder; installs the orch command)',
    '  cd your/repository',
    '  orch init                 (connects Claude Code and Codex)',
    '  orch start --epic my-feature --budget 5 -- your-agent',
    '  orch status · orch log · orch diff · orch restore · orch resume',
    'Four agents on one plan, with a conflict, a red gate and two crashes:',
    '  orch demo convoy          (or, in this folder: npm start -- demo convoy)',
  ]);
}

async function cutPower(pid: number): Promise<readonly number[]> {
  await sleep(300);
  await endTree(pid, { signals: [{ signal: 'SIGKILL', grace: 5_000 }] });
  return [pid];
}
