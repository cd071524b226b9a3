import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { loadLatestCheckpoint, openOrch, saveCheckpoint } from '../../dist/index.js';
import { formatCopies } from './copies.js';
import { environment } from './scratch.js';

const megabyte = 1_048_576;

/** Saves plain checkpoints a second apart. The last one would be saved now if `count` were to come. */
export async function saveHistory(folder, epicId, saved, count = saved) {
  const start = Date.now() - count * 1_000;
  let seq = 0;
  const orch = await openOrch({
    cwd: folder,
    engine: 'native',
    settings: { snapshot: false },
    clock: { now: () => start + seq * 1_000 },
  });
  while (seq < saved) await saveCheckpoint({ epicId, reason: `Step ${++seq}` }, orch);
  const newest = await loadLatestCheckpoint(epicId, orch);
  orch.close();
  return newest;
}

/**
 * An epic as orch would have left it after `count` checkpoints. The first ones are saved by the library, until its
 * lists have their usual length; the rest are copies of the newest, each of them valid, by one `git fast-import`.
 * `ballast` megabytes that do not compress come before them, in the same pack.
 */
export async function importHistory(folder, epicId, count, { saved = 50, ballast = 0 } = {}) {
  const newest = await saveHistory(folder, epicId, saved, count);
  const parts = async function* () {
    yield* formatBallast(ballast);
    yield* await formatCopies(folder, newest, count);
    yield 'done\n';
  };
  // Always a pack, however few objects come; and no time is spent on making it small.
  const settings = ['fastimport.unpackLimit=1', 'pack.compression=0', 'core.bigFileThreshold=512k'];
  const args = [...settings.flatMap((setting) => ['-c', setting]), 'fast-import', '--quiet', '--done'];
  const child = spawn('git', args, { cwd: folder, env: environment, stdio: ['pipe', 'inherit', 'inherit'] });
  const closed = once(child, 'close');
  await pipeline(Readable.from(parts()), child.stdin);
  const [status] = await closed;
  if (status !== 0) throw new Error(`git fast-import ended with ${status}`);
  const { checkpoint } = await loadLatestCheckpoint(epicId, { cwd: folder });
  if (checkpoint.seq !== count) throw new Error(`the history ends at ${checkpoint.seq}, not at ${count}`);
}

function* formatBallast(megabytes) {
  if (megabytes === 0) return;
  yield 'commit refs/heads/ballast\ncommitter A User <user@example.com> 1700000000 +0000\ndata 7\nballast\n';
  for (let file = 0; file < megabytes; file++) {
    yield `M 100644 inline ballast/${file}\ndata ${megabyte}\n`;
    yield randomBytes(megabyte);
    yield '\n';
  }
}
