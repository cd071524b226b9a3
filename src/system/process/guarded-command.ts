import { limitReached } from '../../errors.ts';
import type { Millis } from '../../types.ts';
import { realRandom } from '../clock.ts';
import { realPath } from '../disk.ts';
import { type Command, type CommandOptions, startCommand } from './command.ts';
import { type ControlGroup, createControlGroup } from './control-group.ts';
import { type Guard, killOnExit, type Reserve, reserveDescriptors, startGuard } from './guard.ts';
import { readStat } from './identity.ts';
import { describeProcesses, type NamedProcess } from './process-table.ts';

import { type EndStep, endTree, findStrays, killIfThere, listTree } from './process-tree.ts';

/** A command that is stopped with everything it started, even if this process crashes. */
export type GuardedCommand = Command & {
  /** Ends it and everything it started. If that fails, kills all known processes before throwing. */
  stop(signals: readonly EndStep[]): Promise<StopResult>;
};

export type StopResult = {
  /** The last signal that was needed; null if nothing was running. */
  readonly by: NodeJS.Signals | null;
  /** Processes that could not be ended. */
  readonly left: readonly NamedProcess[];
  /** Processes that may have come from it; without a control group this is a guess. */
  readonly strays: readonly NamedProcess[];
  /** Whether the kernel confirms that nothing is left. */
  readonly isCertain: boolean;
};

/** `marker` is an environment entry (`NAME=value`) by which processes it leaves behind are found. */
type StartOptions = CommandOptions & { readonly marker: string };

/** A command that is ready to start. */
export type Preparation = {
  /** The path of its control group; null if the system has none. */
  readonly group: string | null;
  start(argv: readonly string[], options: StartOptions): Promise<GuardedCommand>;
  /** Releases everything, if the command is not started. */
  discard(): void;
};

/** Prepares everything needed to stop a command before it starts, so that none starts that could not be stopped. */
export function prepareCommand(grace: Millis): Preparation {
  const reserve = reserveDescriptors();
  const group = createControlGroup(realRandom.id(8));
  let guard: Guard | null = null;
  const discard = () => {
    guard?.dismiss();
    group?.close();
    reserve.release();
  };
  try {
    const watching = startGuard(group, grace);
    guard = watching;
    return {
      group: group?.path ?? null,
      start: async (argv, options) => {
        // The guard must know the pid at once, or the command would outlive this process if it is killed right now.
        const command = await startCommand(argv, { ...options, group, onStart: watching.watch });
        return guardCommand(command, options, group, { reserve, discard });
      },
      discard,
    };
  } catch (error) {
    discard();
    throw error;
  }
}

function guardCommand(
  command: Command,
  { marker, cwd }: Pick<StartOptions, 'marker' | 'cwd'>,
  group: ControlGroup | null,
  { reserve, discard }: { readonly reserve: Reserve; readonly discard: () => void },
): GuardedCommand {
  const { pid } = command;
  const startedAt = readStat(pid)?.[19] ?? null;
  let isOver = false;
  void command.exited.then(() => {
    isOver = true;
  });

  /** The last resort when this process is about to end; must be synchronous. */
  function killNow(): void {
    reserve.release();
    group?.kill();
    if (!isOver) killIfThere(pid);
    try {
      for (const each of listTree(isOver ? 0 : pid, marker)) killIfThere(each.pid);
    } catch {
      // Without descriptors the tree cannot be listed; the guard and the next session take care of it.
    }
  }
  const forget = killOnExit(killNow);

  return {
    ...command,
    stop: async (signals) => {
      reserve.release();
      try {
        const { by, left } = await endTree(pid, { marker, group, signals, isOver: () => isOver });
        const isCertain = group?.isPopulated() === false;
        const strays = isCertain || startedAt === null ? [] : findStrays(startedAt, realPath(cwd));
        const result = { by, left: describeProcesses(left), strays, isCertain };
        forget();
        discard();
        return result;
      } catch (error) {
        // The command is already killed, and the guard kills it again once this process has ended.
        throw limitReached('orch could not supervise the command and killed it', error) ?? error;
      }
    },
  };
}
