import type { Millis } from '../types.ts';
import type { ControlGroup } from './control-group.ts';
import { inheritedEnvironment, startProcess } from './spawn.ts';

/** A process that ends the command should this process die over it: of SIGKILL, or because memory ran out. */
export type Guard = {
  /** Says which process it is about. */
  watch(pid: number): void;
  /** The command has ended: nothing is left to guard. */
  dismiss(): void;
};

/*
 * It waits for lines from this process: the command's pid, then that it ended. If the pipe closes before, this process
 * is gone. The command is asked once, then killed: with its whole group where there is one, which needs no pid.
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

/** Starts it, before there is a command: where it cannot be started, no command should be either. */
export function startGuard(group: ControlGroup | null, grace: Millis): Guard {
  if (process.platform === 'win32') return none;
  const { PATH } = inheritedEnvironment();
  const seconds = String(Math.max(1, Math.ceil(grace / 1_000)));
  const child = startProcess('sh', ['-c', script, 'sh', group?.path ?? '', seconds], {
    cwd: '/',
    // Without the session's name in its environment it is not taken for a part of what the command left.
    env: { PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // Ctrl+C is not for it
  });
  child.unref();
  child.stdin?.on('error', () => {}); // it was killed: the command is watched over all the same
  return {
    watch: (pid) => void child.stdin?.write(`${pid}\n`),
    dismiss: () => void child.stdin?.end('ended\n'),
  };
}
