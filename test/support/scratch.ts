import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const enough = 2 * 1024 ** 3;

/**
 * Makes the folder for all that the tests write. It is in memory where there is room: half of the time would go into
 * waiting for a disk, of which the tests learn nothing. A deep run uses the disk.
 */
export default function setup(): () => void {
  const folder =
    (process.env.ORCH_TEST_DEEP !== '1' && makeIn(memory)) || mkdtempSync(join(tmpdir(), 'orch-tests-'));
  chmodSync(folder, 0o755); // one test works as another user
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Null where there is too little room, or programs cannot run from there, as in many containers. */
function makeIn(parent: string): string | null {
  try {
    const { bavail, bsize } = statfsSync(parent);
    if (bavail * bsize < enough) return null;
    const folder = mkdtempSync(join(parent, 'orch-tests-'));
    const probe = join(folder, 'probe');
    writeFileSync(probe, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(probe).status === 0) return folder;
    rmSync(folder, { recursive: true });
    return null;
  } catch {
    return null;
  }
}
