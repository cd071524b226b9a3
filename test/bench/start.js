import { runBareNode, runOrch } from './commands.js';
import { saveHistory } from './history.js';
import { compare, measure } from './measure.js';
import { makeRepository } from './scratch.js';

const epicId = 'epic';
const bars = { version: 1.25, create: 2, list: undefined, show: undefined };

/** Whole commands from a cold start, against a node that does nothing. */
export async function run() {
  const folder = makeRepository();
  await saveHistory(folder, epicId, 30);
  const sides = {
    node: () => runBareNode(folder),
    version: () => runOrch(folder, '--version'),
    create: () => runOrch(folder, 'checkpoint', 'create', '--epic', epicId, '--reason', 'One more'),
    list: () => runOrch(folder, 'checkpoint', 'list', '--epic', epicId),
    show: () => runOrch(folder, 'checkpoint', 'show', '--epic', epicId),
  };
  const times = await measure(sides, { rounds: 40 });
  return Object.entries(bars).map(([name, bar]) => ({
    what: name === 'version' ? 'orch --version' : `orch checkpoint ${name}`,
    against: 'node -e 0',
    ...compare(times[name], times.node),
    bar,
  }));
}
