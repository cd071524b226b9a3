import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { compare, measure } from './measure.js';
import { environment, git, makeRepository } from './scratch.js';

const epicId = 'epic';
const total = 200;
const writer = fileURLToPath(new URL('writer.js', import.meta.url));

/** Starts writers that share the work. They wait for the word, so that starting them is not timed. */
async function startWriters(amount) {
  const folder = makeRepository();
  const children = Array.from({ length: amount }, () =>
    fork(writer, [folder, epicId, String(total / amount)], { env: environment }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  return { folder, children };
}

async function letThemWrite({ children }) {
  const ended = children.map((child) => once(child, 'exit'));
  for (const child of children) child.send('go');
  for (const [status] of await Promise.all(ended)) {
    if (status !== 0) throw new Error(`a writer ended with ${status}`);
  }
}

/** All must be in the history. What fsck finds beside it was written, and lost a race. */
function countDangling({ folder, children }) {
  const commits = Number(git(folder, 'rev-list', '--count', `refs/orchestration/epics/${epicId}`));
  if (commits !== total) throw new Error(`${children.length} processes left ${commits} commits of ${total}`);
  const unreachable = git(folder, 'fsck', '--no-reflogs', '--unreachable', '--no-progress').split('\n');
  return unreachable.filter((line) => line.startsWith('unreachable commit')).length;
}

/** Eight processes that share 200 checkpoints of one epic, against one that makes them all. */
export async function run() {
  const started = [];
  const side = (amount) => ({
    prepare: async () => {
      started.push(await startWriters(amount));
      return started.at(-1);
    },
    run: letThemWrite,
  });
  const { eight, one } = await measure({ eight: side(8), one: side(1) }, { rounds: 7, warmUp: 0 });
  const dangling = started.map(countDangling).filter((_, index) => started[index].children.length > 1);
  const note = `${total} commits every time, none lost; dangling commits: ${dangling.join(', ')}`;
  const what = '8 processes × 25 checkpoints';
  return [{ what, against: '1 × 200', ...compare(eight, one), bar: 1.5, note }];
}
