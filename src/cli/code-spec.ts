import { epicOption } from './choose.ts';
import { runCommands } from './run.ts';
import type { CommandSpec } from './spec.ts';

/* The commands about a checkpoint's code. What it takes to run them is loaded when they are run. */

export const diffSpec: CommandSpec = {
  name: 'diff',
  summary: 'code between checkpoints, or one and now',
  description:
    "Show, with git's own diff and pager, what differs between the code of two checkpoints, or of one and the files as they are now.",
  argument: {
    name: 'checkpoints',
    several: true,
    description:
      'one or two: number, latest (the default), latest~2, green, s7 (alone: what session 7 did), "2h ago", an id; behind --: paths',
  },
  takesPaths: true,
  options: [
    epicOption(),
    { flags: '--stat', description: 'only how much of each file' },
    { flags: '--name-only', description: 'only the names' },
  ],
  examples: ['orch diff', 'orch diff green', 'orch diff 51 58 --stat', 'orch diff s7 -- src'],
  run: async (context, call) => (await import('./diff.ts')).runDiff(context, call),
};

export const restoreSpec: CommandSpec = {
  name: 'restore',
  summary: 'bring code back; --undo',
  description:
    'Bring the code of a checkpoint into the working tree. Shows what changes, and asks; what is there now is saved first, and --undo brings it back. HEAD, branches and index stay as they are; ignored files stay, unless the checkpoint has one of that name.',
  argument: {
    name: 'name',
    description: 'number, latest, latest~2, green, s7, "2h ago", a run, an id or its beginning',
  },
  takesPaths: true,
  options: [
    epicOption(),
    { flags: '-y, --yes', description: 'restore without asking' },
    { flags: '--dry-run', description: 'only show what would change, every file' },
    { flags: '--undo', description: 'bring back what was there before the last restore here' },
    {
      flags: '--to <dir>',
      description: 'into a folder that is new or empty; the working tree stays as it is',
    },
  ],
  examples: [
    'orch restore green',
    'orch restore 58 -e feat-login -- src/login.ts test',
    'orch restore "2h ago" --to /tmp/before',
    'orch restore --undo',
  ],
  run: async (context, call) => (await import('./restore.ts')).runRestore(context, call),
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [diffSpec, restoreSpec]);
}
