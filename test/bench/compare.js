import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadLatestCheckpoint, openOrch } from '../../dist/index.js';
import { runCommand, runOrch } from './commands.js';
import { compare, measure } from './measure.js';
import { makeRepository } from './scratch.js';
import { saveSome } from './work.js';

const epicId = 'epic';
const synced = ['-c', 'core.fsync=committed,reference,loose-object', '-c', 'core.fsyncMethod=fsync'];

async function addAndCommit(folder, settings, round) {
  await runCommand('git', [...settings, 'add', 'state.json'], { cwd: folder });
  await runCommand('git', [...settings, 'commit', '--quiet', '--message', `Step ${round}`], { cwd: folder });
}

/** What people do by hand: a file of the same size, added and committed on their own branch. */
export async function run() {
  const folder = makeRepository();
  const orch = await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } });
  await saveSome(orch, epicId, 0);
  const byGit = (settings) => ({
    prepare: async (round) => {
      const { document } = await loadLatestCheckpoint(epicId, orch);
      const content = { ...document, settings, round };
      writeFileSync(join(folder, 'state.json'), `${JSON.stringify(content, null, 1)}\n`);
      return round;
    },
    run: (round) => addAndCommit(folder, settings, round),
  });
  const times = await measure(
    {
      library: { prepare: (round) => round, run: (round) => saveSome(orch, epicId, round) },
      command: () => runOrch(folder, 'checkpoint', 'create', '--epic', epicId),
      git: byGit([]),
      gitSynced: byGit(synced),
    },
    { rounds: 25 },
  );
  orch.close();
  const rows = [
    ['library', 'library: append'],
    ['command', 'orch checkpoint create'],
  ];
  return rows.flatMap(([name, what]) => [
    { what, against: 'git add + commit', ...compare(times[name], times.git) },
    { what, against: 'the same, synced', ...compare(times[name], times.gitSynced) },
  ]);
}
