import { importHistory } from './history.js';
import { compare } from './measure.js';
import { readPeak } from './peak-memory.js';
import { makeRepository, removeFolder } from './scratch.js';

const epicId = 'epic';
const commands = {
  'checkpoint list': ['checkpoint', 'list', '--epic', epicId],
  'checkpoint create': ['checkpoint', 'create', '--epic', epicId],
  status: ['status'],
};

/** What a command takes where its epic lies in a 500 MB pack, against the same epic in a pack of its own. */
export async function run() {
  const [large, small] = [makeRepository(), makeRepository()];
  await importHistory(large, epicId, 100, { ballast: 500, saved: 20 });
  await importHistory(small, epicId, 100, { saved: 20 });
  const results = [];
  for (const [what, words] of Object.entries(commands)) {
    const [besideLarge, besideSmall] = [[], []];
    for (let round = 0; round < 7; round++) {
      besideLarge.push(readPeak(large, words));
      besideSmall.push(readPeak(small, words));
    }
    const figures = { ...compare(besideLarge, besideSmall), unit: 'MB', bar: 1.2 };
    results.push({ what: `memory: ${what}, 500 MB pack`, against: 'small pack', ...figures });
  }
  removeFolder(large);
  return results;
}
