import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OrchError } from '../../../../errors.ts';
import { realRandom, sleep } from '../../../../system/clock.ts';
import { readIfThere, realDisk, realPath, writeAtomically } from '../../../../system/disk.ts';
import { startCommand } from '../../../../system/process/command.ts';
import { isInstalled } from '../../../../system/process/spawn.ts';
import type { Context } from '../../../run-command.ts';

/* A throw-away repository in which a demo runs what a user would type: real commands, real processes. */

export type Stage = {
  readonly folder: string;
  /** Prints a command, runs orch or git, prints its output, and returns the status. */
  run(typed: string, argv: readonly string[]): Promise<number>;
  /** Runs a command and kills it once it has printed a text, as a power cut would. */
  runUntil(typed: string, argv: readonly string[], printed: string, kill: Kill): Promise<void>;
  explain(text: string): Promise<void>;
  /** Prints how the demo ended, and what to do next. */
  close(next: readonly string[]): void;
};

/** Kills a command, and what else it names. Returns the ids of the processes. */
type Kill = (pid: number) => Promise<readonly number[]>;

/** The command line of this orch. */
export function orchCommand(...args: readonly string[]): string[] {
  return [process.execPath, process.argv[1] ?? '', ...args];
}

export type Scene = {
  readonly files: { readonly [path: string]: string };
  /** The script of its agent, among the templates. */
  readonly agent: string;
  readonly agentFile: string;
};

/** Makes the repository, with the files of a shop and the script of an agent. */
export async function setStage({ out }: Context, { files, agent, agentFile }: Scene): Promise<Stage> {
  if (!isInstalled('git'))
    throw new OrchError('GIT_FAILED', 'the demo needs git, which is not installed', { hint: 'Install git' });
  const folder = join(realPath(mkdtempSync(join(tmpdir(), 'orch-demo-'))), 'shop');
  mkdirSync(folder);
  const templates = join(dirname(dirname(realPath(process.argv[1] ?? ''))), 'templates');
  const script = readIfThere(join(templates, agent));
  if (script === null) throw new Error(`${agent} is missing in ${templates}`);
  for (const [path, text] of [...Object.entries(files), [agentFile, script.toString('utf8')]] as const) {
    await writeAtomically({ disk: realDisk, random: realRandom }, join(folder, path), text);
  }
  const quietly = async (...args: string[]) => {
    const status = await play(folder, ['git', '-c', 'core.hooksPath=/dev/null', ...args], () => {});
    if (status !== 0) throw new Error(`git ${args[0]} ended with ${status}`);
  };
  await quietly('init', '--quiet', '--initial-branch=main', '.');
  for (const setting of ['user.name=demo', 'user.email=demo@localhost', 'commit.gpgSign=false']) {
    const [name = '', value = ''] = setting.split('=');
    await quietly('config', name, value);
  }
  await quietly('add', '.');
  await quietly('commit', '--quiet', '--message', 'The shop');
  const show = (text: string) => out.print(text.replace(/^/gm, '  '));
  const type = (typed: string) => out.print(out.paint('cyan', `$ ${typed}`));
  return {
    folder,
    explain: async (text) => {
      await sleep(500);
      out.print(`\n${out.paint('bold', text)}`);
      await sleep(300);
    },
    run: (typed, argv) => {
      type(typed);
      return play(folder, argv, show);
    },
    runUntil: async (typed, argv, printed, kill) => {
      type(typed);
      let orch = 0;
      let killed: Promise<readonly number[]> | null = null;
      const onLines = (text: string) => {
        show(text);
        if (text.includes(printed)) killed ??= kill(orch);
      };
      await play(folder, argv, onLines, (pid) => {
        orch = pid;
      });
      if (killed === null)
        throw new Error('the demo should have been killed while working, but it ended first');
      const pids: readonly number[] = await killed;
      type(`kill -9 ${pids.join(' ')}`);
    },
    close: (next) => {
      out.print(`\nThat was a real repository: ${out.paint('bold', folder)} (kept; look with git log).`);
      for (const line of next) out.print(line);
    },
  };
}

/** Runs a command and passes on its output, whole lines at a time. */
async function play(
  cwd: string,
  argv: readonly string[],
  onLines: (text: string) => void,
  onStart: (pid: number) => void = () => {},
): Promise<number> {
  let rest = '';
  const { pid, exited, drained } = await startCommand(argv, {
    cwd,
    env: cleanEnvironment(),
    onOutput: (chunk) => {
      const lines = (rest + chunk.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      if (lines.length > 0) onLines(lines.join('\n'));
    },
  });
  onStart(pid);
  const { status } = await exited;
  await drained;
  if (rest !== '') onLines(rest);
  return status ?? 1;
}

/** Keeps the user's own session and git settings out of the demo's repository. */
function cleanEnvironment(): { [name: string]: string | undefined } {
  const names = Object.keys(process.env).filter((name) => /^(ORCH_|GIT_|CLAUDECODE$)/.test(name));
  const removed = Object.fromEntries(names.map((name) => [name, undefined]));
  return { ...removed, DEMO_ORCH: process.argv[1], COLUMNS: '100' };
}
