import type { Millis } from '../../types.ts';
import { shellCommand } from './capture.ts';
import { killIfThere } from './process-tree.ts';
import { type Environment, startProcess } from './spawn.ts';

type FilterRequest = {
  /** A shell line from the user's own settings. */
  readonly line: string;
  readonly input: string;
  readonly cwd: string;
  readonly env: Environment;
  readonly timeout: Millis;
};

const maxBytes = 64 * 1024;

/**
 * Runs a shell line on an input and returns what it prints, whatever its exit status. On timeout it is killed with
 * everything it started, and its output so far is returned.
 */
export function runFilter({ line, input, cwd, env, timeout }: FilterRequest): Promise<string> {
  return new Promise((resolve) => {
    const isWindows = process.platform === 'win32';
    const [program, ...args] = shellCommand(line);
    const child = startProcess(program, args, {
      cwd,
      env: { ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: !isWindows, // its own process group, to kill it with everything it started
      windowsVerbatimArguments: isWindows,
    });
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (): void => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('utf8'));
    };
    const timer = setTimeout(() => {
      if (child.pid !== undefined) killIfThere(isWindows ? child.pid : -child.pid);
      child.stdout?.destroy();
      settle();
    }, timeout);
    child.stdout?.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
    });
    child.on('error', settle); // without a shell there is no output
    child.on('close', settle);
    child.stdin?.on('error', () => {}); // it ended without reading all of its input
    child.stdin?.end(input);
  });
}
