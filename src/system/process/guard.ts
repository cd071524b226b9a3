import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { limitReached } from '../../errors.ts';
import type { Millis } from '../../types.ts';
import type { ControlGroup } from './control-group.ts';
import { inheritedEnvironment, startProcess } from './spawn.ts';

/** A process that ends a command if this process dies first: by SIGKILL, or out of memory. */
export type Guard = {
  /** Tells the guard the command's pid; negative: the number of its process group. */
  watch(pid: number): void;
  /** Ends the guard, after the command has ended. */
  dismiss(): void;
};

/*
 * The script reads two lines from this process: the command's pid, then that it ended. If the pipe closes before that,
 * this process is gone. It then sends SIGTERM, and later kills the command, or its whole control group if it has one.
 */
const script = `
read -r pid || [ -n "$1" ] || exit 0
[ "$pid" = ended ] && exit 0
read -r ended && exit 0
kill -TERM $pid $(cat "$1/cgroup.procs" 2>/dev/null) 2>/dev/null
sleep "$2"
[ -z "$1" ] && kill -KILL $pid 2>/dev/null
[ -n "$1" ] && echo 1 >"$1/cgroup.kill" 2>/dev/null
exit 0`;

const none: Guard = { watch: () => {}, dismiss: () => {} };

/** Starts a guard before its command: without one, no command should start. */
export function startGuard(group: ControlGroup | null, grace: Millis): Guard {
  if (process.platform === 'win32') return none;
  const { PATH } = inheritedEnvironment();
  const seconds = String(Math.max(1, Math.ceil(grace / 1_000)));
  const child = startProcess('sh', ['-c', script, 'sh', group?.path ?? '', seconds], {
    cwd: '/',
    // Without the session's name in its environment, it does not look like something the command left behind.
    env: { PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // so that Ctrl+C does not end it
  });
  child.unref();
  child.stdin?.on('error', () => {}); // the guard was killed; this process still watches the command
  return {
    watch: (pid) => void child.stdin?.write(`${pid}\n`),
    dismiss: () => void child.stdin?.end('ended\n'),
  };
}

const kills = new Set<() => void>();

function killAll(): void {
  for (const kill of kills) kill();
}

/**
 * Calls `kill` when this process ends, including by an uncaught error. It must be synchronous. Returns a function that
 * cancels this.
 */
export function killOnExit(kill: () => void): () => void {
  if (kills.size === 0) {
    process.on('uncaughtExceptionMonitor', killAll); // runs before anything is printed
    process.on('exit', killAll);
  }
  kills.add(kill);
  return () => {
    kills.delete(kill);
    if (kills.size > 0) return;
    process.off('uncaughtExceptionMonitor', killAll);
    process.off('exit', killAll);
  };
}

/** Descriptors needed while a command runs: two gits with their pipes, the files of a checkpoint, a watch. */
const neededToWork = 32;
/** Descriptors needed to stop the command and to record how it ended. */
const neededToStop = 16;

/** Open files, to be closed when no others can be opened. */
export type Reserve = { release(): void };

/** Reserves descriptors, and fails if there are too few to supervise a command. */
export function reserveDescriptors(): Reserve {
  const held: number[] = [];
  const close = (count: number) => {
    for (const fd of held.splice(0, count)) closeSync(fd);
  };
  try {
    while (held.length < neededToWork + neededToStop) held.push(openSync(devNull, 'r'));
  } catch (error) {
    close(held.length);
    throw limitReached('orch cannot supervise a command', error) ?? error;
  }
  // The first ones, so that the work reuses their low numbers even if the limit is lowered later.
  close(neededToWork);
  return { release: () => close(held.length) };
}
