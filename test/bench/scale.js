import { execFileSync } from 'node:child_process';
import {
  generateResumeBrief,
  listCheckpoints,
  loadLatestCheckpoint,
  openOrch,
  pauseSession,
  readStatus,
  recordNote,
  saveCheckpoint,
  startSession,
} from '../../dist/index.js';
import { runOrch } from './commands.js';
import { importHistory, saveHistory } from './history.js';
import { compare, measure } from './measure.js';
import { makeRepository, removeFolder } from './scratch.js';

const epicId = 'epic';
const few = 10;
const many = 100_000;
/** Appending makes a short history longer, so the rounds are spread over this many. */
const copies = 24;

async function open(folder) {
  return { folder, orch: await openOrch({ cwd: folder, engine: 'native', settings: { snapshot: false } }) };
}

// What reads comes first, while the short histories are as short as they are called.
const works = [
  ['library: list 20', 72, ({ orch }) => listCheckpoints(epicId, { limit: 20 }, orch)],
  ['library: load latest', 72, ({ orch }) => loadLatestCheckpoint(epicId, orch)],
  ['library: status', 72, ({ orch }) => readStatus(epicId, orch)],
  [
    'library: brief',
    72,
    async ({ orch }) => {
      const { checkpoint, document } = await loadLatestCheckpoint(epicId, orch);
      return generateResumeBrief({
        epicId,
        state: document.state,
        checkpoint: { ...document, ...checkpoint },
      });
    },
  ],
  ['orch checkpoint list', 24, ({ folder }) => runOrch(folder, 'checkpoint', 'list', '--epic', epicId)],
  ['library: append', 72, ({ orch }) => saveCheckpoint({ epicId, reason: 'One more' }, orch)],
  [
    'library: start, record, pause',
    48,
    async ({ orch }) => {
      const { session } = await startSession({ epicId }, orch);
      await recordNote(session, 'One more', orch);
      await pauseSession(session, null, null, orch);
    },
  ],
  ['orch status', 24, ({ folder }) => runOrch(folder, 'status')],
  ['orch brief', 24, ({ folder }) => runOrch(folder, 'brief', '--epic', epicId)],
  ['orch checkpoint create', 24, ({ folder }) => runOrch(folder, 'checkpoint', 'create', '--epic', epicId)],
];

/** The second of two in a row: the one long history is always warm, so the short ones must be too. */
function timeSecond(work, choose) {
  return {
    prepare: async (round) => {
      const chosen = choose(round);
      await work(chosen);
      return chosen;
    },
    run: work,
  };
}

/** The same work on an epic of 100,000 checkpoints and on one of 10, each in a repository of its own. */
export async function run() {
  const folder = makeRepository();
  await importHistory(folder, epicId, many);
  const long = await open(folder);
  const shorts = [];
  for (let index = 0; index < copies; index++) {
    const short = makeRepository();
    await saveHistory(short, epicId, few);
    shorts.push(await open(short));
  }
  // The system still writes hundreds of megabytes of the long history, and makes whoever is in that repository wait.
  execFileSync('sync');
  const results = [];
  for (const [what, rounds, work] of works) {
    const sides = {
      atMany: timeSecond(work, () => long),
      atFew: timeSecond(work, (round) => shorts[(round + copies) % copies]),
    };
    const { atMany, atFew } = await measure(sides, { rounds });
    results.push({ what: `${what}, at 100,000`, against: 'at 10', ...compare(atMany, atFew), bar: 1.25 });
  }
  for (const { orch } of [long, ...shorts]) orch.close();
  removeFolder(folder);
  return results;
}
