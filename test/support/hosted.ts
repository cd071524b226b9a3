import { spawn, spawnSync } from 'node:child_process';
import {
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeep } from './depth.ts';

const bin = fileURLToPath(new URL('../../bin/orch.js', import.meta.url));
const hostScript = fileURLToPath(new URL('./orch-host.mjs', import.meta.url));

/** `mcp` and `demo` talk for as long as they run; `budget` refuses a call by where its process comes from. */
const alone = new Set(['convoy', 'mcp', 'demo', 'budget']);
/** What fits into a pipe that nobody reads yet, however many bytes a character has. */
const longestInput = 16_000;

type Call = {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
  readonly input: string;
};
type Host = { ask(call: Call): { status: number; stdout: string; stderr: string } };

let host: Host | null = null;
let isHosting = false;

/**
 * Each `orch` of this test file is a process of its own. Otherwise those that `runOrch` waits for share one, which takes
 * a fifth of the time: starting node takes longer than most commands. For tests in which it matters that a process has
 * ended or where it comes from, and for `golden.test.ts`, which runs every command as a user does. In a deep run it is
 * so everywhere.
 */
export function useOwnProcesses(): void {
  isHosting = false;
}

/** Called before each file by `setup.ts`. */
export function startHosting(): void {
  isHosting = !isDeep;
}

/** Can this call run in the host? */
export function canBeHosted(
  args: readonly string[],
  { input = '', env = {} }: { readonly input?: string; readonly env?: Record<string, string> },
): boolean {
  if (!isHosting || input.length > longestInput || args.some((word) => alone.has(word))) return false;
  return !Object.keys(env).some((name) => name.startsWith('NODE_') || name.startsWith('LD_'));
}

/** Runs the built program in this worker's host process, and waits for its end. */
export function runHosted(call: Call): { status: number; stdout: string; stderr: string } {
  host ??= startHost();
  return host.ask(call);
}

function startHost(): Host {
  const folder = mkdtempSync(join(tmpdir(), 'orch-host-'));
  const [requests, answers, stdin] = [
    join(folder, 'requests'),
    join(folder, 'answers'),
    join(folder, 'stdin'),
  ];
  const [stdout, stderr] = [join(folder, 'stdout'), join(folder, 'stderr')];
  spawnSync('mkfifo', [requests, answers, stdin]);
  // Without O_NONBLOCK it would wait for a writer. As long as this one reads, opening it for writing never waits.
  const input = openSync(stdin, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = spawn(process.execPath, ['--max-semi-space-size=4', hostScript, requests, answers, bin], {
    cwd: '/',
    stdio: [input, openSync(stdout, 'a'), openSync(stderr, 'a')],
  });
  child.unref();
  const request = openSync(requests, 'w');
  const answer = openSync(answers, 'r');
  const bytes = Buffer.alloc(16);
  return {
    ask({ input, ...call }) {
      truncateSync(stdout);
      truncateSync(stderr);
      writeFileSync(stdin, input); // closed again before it is read, so that its reader comes to the end
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
