import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach } from 'vitest';

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const { pid } of running) if (pid !== undefined) endGroup(pid);
  running.clear();
});

/** Ends an agent and what it started: it is the first of its process group. */
export function endGroup(pid: number): void {
  // The group 0 would be our own.
  if (!(pid > 1)) throw new Error(`${pid} is no process of an agent`);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended by itself.
  }
}

/** Whether there is a process of this id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export type Ended = {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type Started = {
  readonly pid: number;
  stdout(): string;
  /** Its end, and that of all who held its output. */
  readonly ended: Promise<Ended>;
  /** Its own end; what it started may still run. */
  readonly died: Promise<{ readonly status: number | null; readonly signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
};

/** Starts an agent's program; whatever it started is gone after the test. */
export function startAgent(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string> },
): Started {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
  });
  const died = new Promise<Pick<Ended, 'status' | 'signal'>>((resolve) =>
    child.on('exit', (status, signal) => resolve({ status, signal })),
  );
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    ended,
    died,
    kill: (signal) => void child.kill(signal),
  };
}

/** The JSON documents in a text of one a line; lines that are none are left out. */
// biome-ignore lint/suspicious/noExplicitAny: what an agent prints has no shape of ours.
export function parseLines(text: string): any[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line.trim() === '' ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}
