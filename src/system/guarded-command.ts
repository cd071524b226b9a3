import { limitReached } from '../errors.ts';
import type { Millis } from '../types.ts';
import { realRandom } from './clock.ts';
import { type Command, type CommandOptions, startCommand } from './command.ts';
import { type ControlGroup, createControlGroup } from './control-group.ts';
import { realPath } from './files.ts';
import { type Guard, startGuard } from './guard.ts';
import { killAtLast } from './last-resort.ts';
import { readStat } from './process.ts';
import { type NamedProcess, nameProcesses } from './process-table.ts';
import { type Reserve, reserveDescriptors } from './reserve.ts';
import { findStrays } from './strays.ts';
import { type EndStep, endTree, killIfThere, listTree } from './tree.ts';

/** A command that this process does not die before: it is stopped with all it started, whatever goes wrong here. */
export type GuardedCommand = Command & {
  /** Ends it and all that came from it. Where that fails, all that is known of it is killed first. */
  stop(signals: readonly EndStep[]): Promise<StopResult>;
};

export type StopResult = {
  /** The last signal it took; null where nothing ran any more. */
  readonly by: NodeJS.Signals | null;
  /** What would not go. */
  readonly left: readonly NamedProcess[];
  /** What may have come from it, where only the kernel could have told. */
  readonly strays: readonly NamedProcess[];
  /** Does the kernel itself say that nothing is left? */
  readonly isCertain: boolean;
};

/** `marker` is the entry of its environment by which what it leaves behind is found. */
export type StartOptions = CommandOptions & { readonly marker: string };

/** What is ready before a command is started. */
export type Preparation = {
  /** The group it will be in; null where the system has none. */
  readonly group: string | null;
  start(argv: readonly string[], options: StartOptions): Promise<GuardedCommand>;
  /** Lets go of everything, if it was not started. */
  discard(): void;
};

/** Gets ready what it takes to stop a command, so that none is started that could not be stopped. */
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
        // Known to the guard a moment later, the command would outlive a process that is killed in that moment.
        const command = await startCommand(argv, { ...options, group, onStart: watching.watch });
        return holdCommand(command, options, group, { reserve, discard });
      },
      discard,
    };
  } catch (error) {
    discard();
    throw error;
  }
}

function holdCommand(
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

  /** The last resort: this process is about to end, and cannot wait for anything. */
  function killNow(): void {
    reserve.release();
    group?.kill();
    if (!isOver) killIfThere(pid);
    try {
      for (const each of listTree(isOver ? 0 : pid, marker)) killIfThere(each.pid);
    } catch {
      // Without descriptors what it started cannot be looked for; the guard and the next session do.
    }
  }
  const forget = killAtLast(killNow);

  return {
    ...command,
    stop: async (signals) => {
      reserve.release();
      try {
        const { by, left } = await endTree(pid, { marker, group, signals, isOver: () => isOver });
        const isCertain = group?.isPopulated() === false;
        const strays = isCertain || startedAt === null ? [] : findStrays(startedAt, realPath(cwd));
        const result = { by, left: nameProcesses(left), strays, isCertain };
        forget();
        discard();
        return result;
      } catch (error) {
        // It was killed first; the guard makes sure of that once more when this process has ended.
        throw limitReached('orch could not look after the command and killed it', error) ?? error;
      }
    },
  };
}
