import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, readSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeep } from './depth.ts';

const bin = fileURLToPath(new URL('../../bin/orch.js', import.meta.url));
const hostScript = fileURLToPath(new URL('./orch-host.mjs', import.meta.url));

/** Commands that supervise, outlive their call, or read what an agent sends: each is a process of its own. */
const alone = new Set(['run', 'start', 'resume', 'hook', 'statusline', 'mcp', 'demo', 'init', 'baseline']);

type Call = { readonly args: readonly string[]; readonly cwd: string; readonly env: Record<string, string> };
type Host = { ask(call: Call): { status: number; stdout: string; stderr: string } };

let host: Host | null = null;
let isHosting = false;

/**
 * Lets the commands of a test file share one process, which takes a third of the time. Not for tests in which it
 * matters that a process has ended or who its parent is; in a deep run every `orch` is a process of its own.
 */
export function hostOrch(): void {
  isHosting = !isDeep;
}

/** Called before each file by `setup.ts`. */
export function stopHosting(): void {
  isHosting = false;
}

/** Can this call run in the host, in a file that asked for it? */
export function canBeHosted(
  args: readonly string[],
  { input, env = {} }: { readonly input?: string; readonly env?: Record<string, string> },
): boolean {
  const command = args.find((word) => !word.startsWith('-'));
  if (!isHosting || input !== undefined || command === undefined || alone.has(command)) return false;
  return !Object.keys(env).some((name) => name.startsWith('NODE_') || name.startsWith('LD_'));
}

/** Runs the built program in this worker's host process, and waits for its end. */
export function runHosted(call: Call): { status: number; stdout: string; stderr: string } {
  host ??= startHost();
  return host.ask(call);
}

function startHost(): Host {
  const folder = mkdtempSync(join(tmpdir(), 'orch-host-'));
  const [requests, answers] = [join(folder, 'requests'), join(folder, 'answers')];
  const [stdout, stderr] = [join(folder, 'stdout'), join(folder, 'stderr')];
  spawnSync('mkfifo', [requests, answers]);
  const child = spawn(process.execPath, [hostScript, requests, answers, bin], {
    cwd: '/',
    stdio: ['ignore', openSync(stdout, 'a'), openSync(stderr, 'a')],
  });
  child.unref();
  const request = openSync(requests, 'w');
  const answer = openSync(answers, 'r');
  const bytes = Buffer.alloc(16);
  return {
    ask(call) {
      truncateSync(stdout);
      truncateSync(stderr);
      writeSync(request, `${JSON.stringify(call)}\n`);
      const length = readSync(answer, bytes);
      if (length === 0) {
        host = null;
        throw new Error(`the host of orch ended: ${readFileSync(stderr, 'utf8')}`);
      }
      return {
        status: Number(bytes.toString('latin1', 0, length)),
        stdout: readFileSync(stdout, 'utf8'),
        stderr: readFileSync(stderr, 'utf8'),
      };
    },
  };
}
