import type { Millis } from '../types.ts';
import { type Environment, startProcess } from './spawn.ts';

export type FilterRequest = {
  /** A line for the shell: the user's own, from their own settings. */
  readonly line: string;
  readonly input: string;
  readonly cwd: string;
  readonly env: Environment;
  readonly timeout: Millis;
};

/** More than anybody shows on a line. */
const mostBytes = 64 * 1024;

/**
 * Runs a shell line that reads its input and prints an answer. What it printed is given whatever became of it; when
 * its time is over, it is ended with all it started, and what it printed by then is given.
 */
export function runFilter({ line, input, cwd, env, timeout }: FilterRequest): Promise<string> {
  return new Promise((resolve) => {
    const isWindows = process.platform === 'win32';
    const [program, args] = isWindows ? ['cmd', ['/d', '/s', '/c', `"${line}"`]] : ['sh', ['-c', line]];
    const child = startProcess(program, args, {
      cwd,
      env: { ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: !isWindows, // a group of its own, by which all it started is ended
      windowsVerbatimArguments: isWindows,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('utf8'));
    };
    const timer = setTimeout(() => {
      endGroup(child.pid);
      child.stdout?.destroy();
      settle();
    }, timeout);
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= mostBytes) chunks.push(chunk);
    });
    child.on('error', settle); // there is no shell: then there is no answer
    child.on('close', settle);
    child.stdin?.on('error', () => {}); // it ended without reading all of it
    child.stdin?.end(input);
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // it ended by itself meanwhile
  }
}
