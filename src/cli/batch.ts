import { epicOption } from './choose.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, type GroupSpec, type OptionSpec, textOf } from './spec.ts';

const specOption: OptionSpec = {
  flags: '--spec <dir>',
  description: 'its folder, or its name; by default the only one in specs/active',
};

/** Reading YAML is loaded only for a command that does. */
const work = () => import('./batch-work.ts');

const next: CommandSpec = {
  name: 'next',
  description: 'Show what of a spec is to be done next. Reads only: orch batch start begins it.',
  options: [specOption],
  examples: ['orch batch next', 'orch batch next --spec specs/active/auth-system --json'],
  run: async (context, call) => (await work()).showNextBatch(context, textOf(call, 'spec') ?? null),
};

const begin: CommandSpec = {
  name: 'start',
  description: 'Begin tasks: marks them in_progress in tasks.yaml, so that the next agent knows.',
  argument: { name: 'task', several: true, description: 'their ids; by default the current batch' },
  options: [
    specOption,
    epicOption('the epic it is recorded for; by default the name of the spec'),
    { flags: '--tasks <ids>', description: 'the same as TASK, with commas: T001,T002' },
  ],
  examples: ['orch batch start', 'orch batch start T003'],
  run: async (context, call) => (await work()).begin(context, call),
};

const complete: CommandSpec = {
  name: 'complete',
  description:
    'Complete tasks: update tasks.yaml, write checkpoint.yaml, save a checkpoint. Run again, it finishes what is missing.',
  argument: { name: 'task', several: true, description: 'their ids; by default the current batch' },
  options: [
    specOption,
    epicOption('the epic it is recorded for; by default the name of the spec'),
    { flags: '--tasks <ids>', description: 'the same as TASK, with commas: T001,T002' },
    {
      flags: '--deferred <file>',
      description: 'what a review found, as a list in YAML or JSON: severity, description, location',
    },
    { flags: '--commit', description: 'commit the files of its tasks and what is staged, then the spec' },
    {
      flags: '--anyway',
      description: 'even if branch or commit are not those of the last batch, or nothing changed',
    },
  ],
  examples: [
    'orch batch complete T003',
    'orch batch complete --tasks T001,T002 --deferred review.yaml --commit',
  ],
  run: async (context, call) => (await work()).complete(context, call),
};

const status: CommandSpec = {
  name: 'status',
  description: 'Show where a spec stands, and what is not as it was after its last batch.',
  options: [
    specOption,
    { flags: '--from-git', description: 'look which tasks the commits of this branch completed' },
    { flags: '--write', description: 'with --from-git: mark these as completed in tasks.yaml' },
  ],
  examples: ['orch batch status', 'orch batch status --from-git --write'],
  run: async (context, call) => (await work()).showBatchStatus(context, call),
};

export const batchGroup: GroupSpec = {
  name: 'batch',
  summary: 'work through a spec: what is next, start it, complete it, where it stands',
  description: 'Specs: tasks.yaml and dependencies.yaml in a folder of specs/active, done batch after batch.',
  commands: [begin, next, complete, status],
  initial: 'status',
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [batchGroup]);
}
