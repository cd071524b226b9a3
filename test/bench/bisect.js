import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openOrch, saveCheckpoint } from '../../dist/index.js';
import { runCommand, runOrch } from './commands.js';
import { compare, measure, median } from './measure.js';
import { git, makeRepository, removeFolder } from './scratch.js';

const checkpoints = 1_000;
const broken = 731;
const files = 500;
const line = ['sh', '-c', 'test ! -e broken'];

/** A repository with so many checkpoints of different code, broken from one on; and the same as commits on a branch. */
async function makeHistory() {
  const folder = makeRepository();
  mkdirSync(join(folder, 'src'));
  for (let n = 0; n < files; n++) writeFileSync(join(folder, 'src', `file-${n}`), `${n}\n`.repeat(50));
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'files');
  const orch = await openOrch({ cwd: folder, engine: 'native' });
  let commit = git(folder, 'rev-parse', 'HEAD');
  const commits = [];
  try {
    for (let n = 1; n <= checkpoints; n++) {
      writeFileSync(join(folder, 'src', `file-${n % files}`), `changed ${n}\n`);
      if (n === broken) writeFileSync(join(folder, 'broken'), '');
      const { snapshot } = await saveCheckpoint({ epicId: 'bench', reason: `step ${n}` }, orch);
      commit = git(folder, 'commit-tree', `${snapshot}^{tree}`, '-p', commit, '-m', `step ${n}`);
      commits.push(commit);
    }
  } finally {
    orch.close();
  }
  const other = `${folder}-commits`;
  git(folder, 'worktree', 'add', '--quiet', '--detach', other, commits.at(-1));
  return { folder, other, commits };
}

/** Finds the break with git's own bisect, among the same trees. */
async function bisectByGit({ other, commits }) {
  await runCommand('git', ['bisect', 'start', commits.at(-1), commits[0]], { cwd: other });
  await runCommand('git', ['bisect', 'run', ...line], { cwd: other });
  await runCommand('git', ['bisect', 'reset', '--quiet', commits.at(-1)], { cwd: other }).catch(() => {});
}

/** What a search costs beyond the command, against git's own and against the command and a checkout bare. */
export async function run() {
  const history = await makeHistory();
  const { folder, other, commits } = history;
  const bisect = (...options) =>
    runOrch(folder, 'bisect', '-e', 'bench', '--json', ...options, '--', ...line);
  const { bisect: found } = JSON.parse(await bisect('--fresh'));
  if (found.firstBad.seq !== broken) throw new Error(`found ${found.firstBad.seq}, not ${broken}`);
  const tries = found.tries.length;
  // As far apart as the tries of a search, in the same order every time.
  const visited = found.tries.map(({ checkpoint }) => commits[checkpoint.seq - 1]);
  const place = `${folder}-bare`;
  const bare = async () => {
    await runCommand('git', ['worktree', 'add', '--quiet', '--detach', '--no-checkout', place, visited[0]], {
      cwd: folder,
    });
    for (const commit of visited) {
      await runCommand('git', ['checkout', '--quiet', '--force', '--detach', commit], { cwd: place });
      await runCommand(line[0], line.slice(1), { cwd: place }).catch(() => {});
    }
    await runCommand('git', ['worktree', 'remove', '--force', place], { cwd: folder });
  };
  const times = await measure(
    {
      search: () => bisect('--fresh'),
      known: () => bisect(),
      git: () => bisectByGit(history),
      bare,
    },
    { rounds: 7, warmUp: 1 },
  );
  const each = times.search.map((value, round) => (value - times.known[round]) / tries);
  const bareEach = times.bare.map((value) => value / tries);
  removeFolder(other);
  removeFolder(folder);
  return [
    {
      what: `bisect over ${checkpoints} checkpoints, ${files} files, ${tries} tries`,
      against: 'git bisect run, in a checkout that is there',
      ...compare(times.search, times.git),
    },
    {
      what: 'one try of it, with its share of the worktree',
      against: 'the same with git worktree, git checkout and the command bare',
      ...compare(each, bareEach),
      bar: 1.5,
      note: `a search whose answer is known takes ${median(times.known).toFixed(0)} ms`,
    },
  ];
}
