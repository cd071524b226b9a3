import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for this process alone, in memory where the system has such a place; gone when the process ends. */
export const scratch = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'orch-fuzz-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
