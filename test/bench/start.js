import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runBareNode, runOrch } from './commands.js';
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

const create = ['checkpoint', 'create', '--epic', epicId, '--reason', 'One more'];

/** Whole commands from a cold start, against a node that does nothing. */
export async function run() {
  const plain = await prepare({ snapshots: false });
  const kept = await prepare({ snapshots: true });
  const running = await prepare({ snapshots: true });
  await runOrch(running, 'start', '--epic', epicId, '--background', '--no-baseline');
  let edits = 0;
  const edit = () => writeFileSync(join(kept, 'README'), `hello ${++edits}\n`);
  const rows = [
    ['orch --version', () => runOrch(plain, '--version'), 1.25],
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
