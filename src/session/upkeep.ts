import { join } from 'node:path';
import type { Stored } from '../checkpoint/store.ts';
import { readTextIfThere, writeAll } from '../system/files.ts';
import type { Millis } from '../types.ts';
import { journalFolder } from './journal.ts';
import { markLatest } from './orchestration.ts';
import { type JournalFile, releaseFolded } from './pending.ts';
import type { SessionPorts } from './record.ts';

/** How often git is asked to pack what we wrote; where there is much, sooner. */
const tidyInterval: Millis = 3_600_000;
const tidyIntervalOfMany: Millis = 30_000;
/** So many loose objects are much: git's own bound is 6,700, and it does not look at what we write. */
const manyLoose = 4_000;

/** What can wait until a checkpoint is durable; if it fails, the checkpoint still stands. */
export async function cleanUp(
  ports: SessionPorts,
  stored: Stored,
  journals: readonly JournalFile[],
): Promise<void> {
  await markLatest(ports, stored);
  try {
    releaseFolded(ports, journalFolder(ports.home), stored.base.state, journals);
    await tidyNowAndThen(ports);
  } catch (error) {
    ports.report(`upkeep failed: ${error instanceof Error ? error.message : error}`);
  }
}

async function tidyNowAndThen({ disk, clock, git, home }: SessionPorts): Promise<void> {
  const stamp = join(home, 'tidied');
  const last = readTextIfThere(stamp);
  const now = clock.now();
  const since = last === null ? Number.POSITIVE_INFINITY : Math.abs(now - Number(last));
  if (since < tidyIntervalOfMany) return;
  const isMuch = git.estimateLoose() >= manyLoose;
  if (since < tidyInterval && !isMuch) return;
  const fd = disk.open(stamp, 'w', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(String(now)));
  } finally {
    disk.close(fd);
  }
  if (last !== null || isMuch) await git.tidy();
}
