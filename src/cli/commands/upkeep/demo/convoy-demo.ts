import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sleep } from '../../../../system/clock.ts';
import { statIfThere } from '../../../../system/disk.ts';
import { killIfThere } from '../../../../system/process/process-tree.ts';
import type { Context } from '../../../run-command.ts';
import { orchCommand, type Scene, setStage } from './stage.ts';

const plan = `name: shop
workers: 4
budget: 5                     # dollars, for all of them
worker: { agent: [node, worker.mjs], attempts: 3, budget: 1 }
tasks:
  - { id: login,  prompt: Add a login page to the shop. }
  - { id: search, prompt: Add a search page to the shop. }
  - { id: prices, prompt: "Add up prices, to the cent." }
  - { id: guide,  prompt: Write a guide for customers in two chapters. }
`;

const scene: Scene = {
  files: {
    'README.md': '# A shop\n',
    'shop.yaml': plan,
    'pages.txt': '/home\n',
    'check.mjs': `import { existsSync } from 'node:fs';
if (existsSync('prices.mjs')) {
  const { add } = await import('./prices.mjs');
  if (add(0.1, 0.2) !== 0.3) throw new Error(\`0.1 + 0.2 should be 0.3, not \${add(0.1, 0.2)}\`);
}
`,
    '.orchestration/config.yaml': 'gates:\n  - { name: test, run: node check.mjs }\n',
  },
  agent: 'demo-worker.mjs',
  agentFile: 'worker.mjs',
};

/** Four workers on one plan: a conflict, a red gate, a worker and the scheduler killed; everything is merged. */
export async function playConvoy(context: Context): Promise<void> {
  const { explain, run, runUntil, folder, close } = await setStage(context, scene);
  const orch = orchCommand;

  await explain('Four agents work on one plan, each in a git worktree of its own, on one budget.');
  await run('cat shop.yaml', ['cat', 'shop.yaml']);
  const start = orch('convoy', 'start', 'shop.yaml');
  await runUntil('orch convoy start shop.yaml', start, '✓ login', (pid) => killWithWorker(pid, folder));

  await explain(
    'The scheduler is dead, and so is the worker on the guide. The other workers have not noticed.',
  );
  await run('orch convoy show', orch('convoy', 'show'));

  await explain(
    'Resumed: live workers are adopted, and the dead one continues where it was. The conflict and the red gate go back to their workers.',
  );
  const status = await run('orch convoy resume', orch('convoy', 'resume'));
  if (status !== 0)
    throw new Error(`everything should have been merged, but the convoy ended with ${status}`);

  await explain('Each task is one merge, tested before the branch moved. Your own branch has not moved yet.');
  const log = ['log', '--oneline', '--graph', '--first-parent', '--format=%h %s', 'orch/shop/merged'];
  await run('git log --oneline --graph --first-parent orch/shop/merged', ['git', ...log]);
  await run('git log --oneline main', ['git', 'log', '--oneline', 'main']);
  await run('orch cost status -e shop', orch('cost', 'status', '-e', 'shop'));
  await run('orch convoy land -y', orch('convoy', 'land', '-y'));
  await run('cat pages.txt', ['cat', 'pages.txt']);
  close([
    'Begin your own:  orch convoy start --task "Add a login page" --task "Add a search page" --budget 5',
  ]);
}

/** Kills the scheduler, and the worker on the guide with its supervisor, once that has begun. */
async function killWithWorker(scheduler: number, folder: string): Promise<readonly number[]> {
  const noted = join(dirname(folder), 'guide.pids');
  while (statIfThere(noted) === null) await sleep(20);
  const pids = [scheduler, ...readFileSync(noted, 'utf8').trim().split(' ').map(Number)];
  for (const pid of pids) killIfThere(pid);
  return pids;
}
