import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment, type TestRepository } from './repository.ts';

const saveMany = fileURLToPath(new URL('save-many.js', import.meta.url));

export type Saver = {
  readonly pid: number;
  /** The lines it printed so far: each is an acknowledged checkpoint. */
  lines(): string[];
  /** Waits for its end. */
  readonly ended: Promise<{ status: number | null; stderr: string }>;
  kill(): void;
};

/** A real process that saves checkpoints. */
export function startSaver(
  repository: TestRepository,
  epic: string,
  count: number,
  name: string,
  engine = 'auto',
): Saver {
  const child = spawn(process.execPath, [saveMany, repository.folder, epic, String(count), name, engine], {
    env: cleanEnvironment(repository.home),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    pid: child.pid ?? 0,
    // The last piece is not whole until its newline is there.
    lines: () => stdout.split('\n').slice(0, -1),
    ended: new Promise((resolve) => child.on('close', (status) => resolve({ status, stderr }))),
    kill: () => child.kill('SIGKILL'),
  };
}
