import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * Node copies its page tables for each process it starts: in a worker of some hundred megabytes that takes longer than
 * most calls of git. A shell that is told what to start has next to nothing to copy.
 */

export type Ended = { readonly status: number; readonly stdout: string; readonly stderr: string };

type Call = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
};

type Shell = { run(program: string, args: readonly string[], call: Call): Ended };

let shell: Shell | null = null;

/** Runs a program to its end; its status is as a shell gives it. */
export function runProgram(program: string, args: readonly string[], call: Call): Ended {
  shell ??= startShell();
  return shell.run(program, args, call);
}

/** The same, and what it printed without the last newline. It must succeed. */
export function readProgram(program: string, args: readonly string[], call: Call): string {
  const ended = runProgram(program, args, call);
  if (ended.status !== 0) {
    const failed = `Command failed: ${program} ${args.join(' ')}\n${ended.stderr}`;
    throw Object.assign(new Error(failed), ended);
  }
  return ended.stdout.replace(/\n$/, '');
}

function startShell(): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'orch-shell-'));
  const [requests, answers] = [join(folder, 'requests'), join(folder, 'answers')];
  const [stdin, stdout, stderr] = [join(folder, 'stdin'), join(folder, 'stdout'), join(folder, 'stderr')];
  spawnSync('mkfifo', [requests, answers]);
  spawn('sh', [requests], { cwd: '/', env: {}, stdio: ['ignore', 'ignore', 'inherit'] }).unref();
  const request = openSync(requests, 'w');
  writeSync(request, `exec 9>${quote(answers)}\n`);
  const answer = openSync(answers, 'r');
  const bytes = Buffer.alloc(16);
  return {
    run(program, args, { cwd, env, input }) {
      if (input !== undefined) writeFileSync(stdin, input);
      const variables = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
      const words = [...variables, 'exec', quote(program), ...args.map(quote)].join(' ');
      const streams = `<${input === undefined ? '/dev/null' : quote(stdin)} >${quote(stdout)} 2>${quote(stderr)}`;
      writeSync(request, `(cd ${quote(cwd)} && unset PWD OLDPWD && ${words}) ${streams} 9>&-; echo $? >&9\n`);
      const length = readSync(answer, bytes);
      if (length === 0) throw new Error('the shell that starts programs ended');
      return {
        status: Number(bytes.toString('latin1', 0, length)),
        stdout: readFileSync(stdout, 'utf8'),
        stderr: readFileSync(stderr, 'utf8'),
      };
    },
  };
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
