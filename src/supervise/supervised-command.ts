import { noteGroup } from '../journal/live.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { sleep } from '../system/clock.ts';
import { type GuardedCommand, prepareCommand, type StopResult } from '../system/process/guarded-command.ts';
import type { EndStep } from '../system/process/process-tree.ts';
import type { Environment } from '../system/process/spawn.ts';
import type { Millis } from '../types.ts';
import type { StopReason } from './decide.ts';
import type { Work } from './supervise.ts';

export type SupervisedCommand = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** The entry of its environment that identifies the processes it leaves behind. */
  readonly marker: string;
  readonly onOutput: ((chunk: Buffer) => void) | null;
};

/** A command as supervised work, and what it took to stop it. */
export type CommandWork = Work & { readonly stopped: StopResult | null };

/** How long the last of a command's output may take to arrive. */
const drainGrace: Millis = 2_000;

/** Makes a command into work that can be supervised, and started again after it ended. */
export function makeCommandWork(
  ports: SessionPorts,
  { session, settings }: RunningSession,
  supervised: SupervisedCommand,
  onStopping: (why: StopReason) => void,
): CommandWork {
  const grace = settings.stopGrace;
  let running: GuardedCommand | null = null;
  let hasExited = false;
  let stopped: StopResult | null = null;
  return {
    get stopped() {
      return stopped;
    },
    get pid() {
      return running === null || hasExited ? null : running.pid;
    },
    async start(onExit, argv) {
      const prepared = prepareCommand(grace);
      hasExited = false;
      try {
        await noteGroup(ports, session, prepared.group);
        running = await prepared.start(argv ?? supervised.argv, supervised);
      } catch (error) {
        prepared.discard();
        throw error;
      }
      void running.exited.then((exit) => {
        hasExited = true;
        onExit(exit);
      });
    },
    async stop(why) {
      if (running === null) return;
      const command = running;
      running = null; // one that cannot be stopped in order is killed, and is not stopped again
      if (!hasExited) onStopping(why);
      const wasOver = hasExited;
      const first: EndStep = { signal: why.kind === 'signal' ? why.signal : 'SIGINT', grace };
      const rest: EndStep[] = [
        { signal: 'SIGTERM', grace },
        { signal: 'SIGKILL', grace: Math.max(grace, 2_000) },
      ];
      const result = await command.stop(wasOver ? rest : [first, ...rest]);
      stopped = wasOver ? { ...result, by: null } : result;
      // A process out of reach may hold its output open; orch does not wait for it.
      await Promise.race([command.drained, sleep(drainGrace)]);
    },
  };
}
