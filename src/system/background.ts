import { limitReached } from '../errors.ts';
import { type Environment, startProcess } from './spawn.ts';

/** The first word of a process that was sent to work in the background, or how it ended without one. */
export type FirstWord =
  | { readonly kind: 'said'; readonly message: unknown; readonly pid: number }
  | { readonly kind: 'ended'; readonly status: number | null; readonly signal: NodeJS.Signals | null };

/**
 * Starts this program again, apart from this process and its terminal, and waits for its first word.
 * What it prints goes to an open file. It begins in the same folder: paths in its arguments are meant from there.
 */
export async function startInBackground(
  args: readonly string[],
  options: { readonly env: Environment; readonly output: number },
): Promise<FirstWord> {
  const { env, output } = options;
  const child = startProcess(process.execPath, [process.argv[1] ?? '', ...args], {
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', output, output, 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(limitReached('orch could not be started in the background', error) ?? error),
    );
    child.once('message', (message) => {
      child.disconnect();
      child.unref();
      resolve({ kind: 'said', message, pid: child.pid ?? 0 });
    });
    child.once('exit', (status, signal) => resolve({ kind: 'ended', status, signal }));
  });
}
