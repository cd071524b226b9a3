import { spawn } from 'node:child_process';
import { environment, orchBin } from './scratch.js';

/** Starts a program the way the engine starts git, gives it its input at once, and waits for its end. */
export function runCommand(command, args, { cwd, input = '', env = environment }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: 'pipe' });
    const out = [];
    const err = [];
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => err.push(chunk));
    child.stdin.on('error', () => {}); // it ended before reading all: its status tells why
    child.on('error', reject);
    child.on('close', (status) => {
      if (status === 0) resolve(Buffer.concat(out).toString());
      else reject(new Error(`${command} ${args.join(' ')} ended with ${status}: ${Buffer.concat(err)}`));
    });
    child.stdin.end(input);
  });
}

/** Runs the built program as a user does. */
export function runOrch(folder, ...args) {
  return runCommand(process.execPath, [orchBin, ...args], { cwd: folder });
}

/** Runs it as an agent does: this process stands for the agent's, and speaks on stdin. */
export function runOrchWith(folder, input, ...args) {
  const env = { ...environment, CLAUDE_PID: String(process.pid), ORCH_EPIC: 'agents' };
  return runCommand(process.execPath, [orchBin, ...args], { cwd: folder, input, env });
}

/** What every other start is compared with. */
export function runBareNode(folder) {
  return runCommand(process.execPath, ['-e', '0'], { cwd: folder });
}
