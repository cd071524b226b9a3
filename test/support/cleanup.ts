import { readdirSync, readlinkSync } from 'node:fs';

const undoings: (() => unknown)[] = [];

/** Undoes something when the running test is over: what was made last is undone first. */
export function afterTest(undo: () => unknown): void {
  undoings.push(undo);
}

/** Called after each test by `setup.ts`. */
export async function cleanUp(): Promise<void> {
  const failures: unknown[] = [];
  for (const undo of undoings.splice(0).reverse()) {
    try {
      await undo();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Ends every process that works below a folder of the test, where the system tells: workers outlive a test that fails. */
export function endProcessesIn(folder: string): void {
  if (process.platform !== 'linux') return;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid))
    try {
      if (readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // gone, or another user's
    }
}
