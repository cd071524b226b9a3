import type { Command } from 'commander';
import { OrchError } from '../errors.ts';
import { type Checkpoint, loadCheckpoint, readListing, saveCheckpoint, verifyCheckpoints } from '../index.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { type EpicChoice, resolveEpic } from '../session/resolve.ts';
import type { EpicId } from '../types.ts';
import { showCheckpoint, showList, showTitle, showVerification } from './checkpoint-view.ts';
import { type Context, type Register, type RunCommand, runProgram } from './program.ts';
import { wordsOf } from './words.ts';

type EpicOption = { epic?: string };

async function chooseEpic(
  context: Context,
  orch: Orch,
  given: string | undefined,
  create: boolean,
): Promise<EpicId> {
  const choice = await resolveEpic(orch, { given, environment: context.settings.epic, create });
  const said: { readonly [B in EpicChoice['because']]?: string } = {
    branch: 'from the branch',
    'only one': 'the only one',
    'made up': 'made up; name it yourself with --epic',
  };
  const why = said[choice.because];
  if (why && !context.json) context.out.tell(context.out.paint('dim', `epic ${choice.epic} (${why})`));
  return choice.epic;
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--limit takes a whole number from 1 up, not ${JSON.stringify(text)}`, {
    hint: 'Try --limit 20, or --all',
  });
}

type AddCommand = (group: Command, run: RunCommand) => void;

const addCreate: AddCommand = (group, run) => {
  group
    .command('create')
    .description('Save a checkpoint. Your branch, index and files stay as they are.')
    .option('-e, --epic <id>', 'the epic; it is made if needed')
    .option('-r, --reason <text>', 'why; it becomes the summary')
    .addHelpText(
      'after',
      '\nExamples:\n  orch checkpoint create --epic feat-login --reason "Login form done"',
    )
    .action(
      run(async (context, { epic, reason }: EpicOption & { reason?: string }) => {
        const { out, json } = context;
        const checkpoint = await context.withOrch(async (orch): Promise<Checkpoint> => {
          const epicId = await chooseEpic(context, orch, epic, true);
          return saveCheckpoint({ epicId, ...(reason !== undefined && { reason }) }, orch);
        });
        if (json) out.print(JSON.stringify({ checkpoint }));
        else out.print(showTitle(out, checkpoint, '◆ '));
        return 0;
      }),
    );
};

const addList: AddCommand = (group, run) => {
  group
    .command('list')
    .description("List an epic's checkpoints, newest first.")
    .argument('[epic]', 'the epic')
    .option('-e, --epic <id>', 'the epic')
    .option('-n, --limit <n>', 'how many at the most', '20')
    .option('-a, --all', 'all of them')
    .addHelpText(
      'after',
      '\nExamples:\n  orch checkpoint list --epic feat-login\n  orch checkpoint list --all --json',
    )
    .action(
      run(
        async (
          context,
          named: string | undefined,
          options: EpicOption & { limit: string; all?: boolean },
        ) => {
          const limit = options.all ? Number.POSITIVE_INFINITY : parseLimit(options.limit);
          await context.withOrch(async (orch) => {
            const epicId = await chooseEpic(context, orch, options.epic ?? named, false);
            const { checkpoints, total, damaged } = await readListing(epicId, { limit }, orch);
            const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
            if (context.json) context.out.print(JSON.stringify(found));
            else context.out.print(showList(context.out, found, orch.clock.now()));
            if (damaged)
              context.out.tell(
                `orch: some could not be read: ${damaged.message}\n      Look closer with: orch checkpoint verify`,
              );
          });
          return 0;
        },
      ),
    );
};

const addShow: AddCommand = (group, run) => {
  group
    .command('show')
    .description('Show a checkpoint and what the epic knew then.')
    .argument('[name]', 'number, latest, latest~2, green, s7, "2h ago", an id or its beginning', 'latest')
    .option('-e, --epic <id>', 'the epic')
    .addHelpText(
      'after',
      '\nExamples:\n  orch checkpoint show\n  orch checkpoint show 58 --epic feat-login --json',
    )
    .action(
      run(async (context, name: string, { epic }: EpicOption) => {
        await context.withOrch(async (orch) => {
          const epicId = await chooseEpic(context, orch, epic, false);
          const loaded = await loadCheckpoint(epicId, name, orch);
          if (context.json) context.out.print(JSON.stringify(loaded));
          else context.out.print(showCheckpoint(context.out, loaded));
        });
        return 0;
      }),
    );
};

const addVerify: AddCommand = (group, run) => {
  group
    .command('verify')
    .description('Read every checkpoint, of one epic or of all, and say which are damaged.')
    .option('-e, --epic <id>', 'this epic only')
    .addHelpText(
      'after',
      '\nExamples:\n  orch checkpoint verify\n  orch checkpoint verify --epic feat-login --json',
    )
    .action(
      run(async ({ out, json, withOrch }, { epic }: EpicOption) => {
        const found = await withOrch((orch) => verifyCheckpoints(epic ?? null, orch));
        out.print(json ? JSON.stringify(found) : showVerification(out, found));
        if (found.damaged.length === 0) return 0;
        throw new OrchError(
          'INTEGRITY',
          `${found.damaged.length} of ${found.checked} checkpoints are damaged`,
          {
            hint: 'The others can be used as always: a new checkpoint does without the damaged ones.',
            data: { checked: found.checked, damaged: found.damaged.length },
          },
        );
      }),
    );
};

const commands = { create: addCreate, list: addList, show: addShow, verify: addVerify };

/** The group with all its commands, or with the one that was typed: making the others takes time too. */
function register(program: Command, run: RunCommand, typed: string | undefined): void {
  const group = program
    .command('checkpoint')
    .summary('create, list, show and verify checkpoints')
    .description('Checkpoints: commits on refs/orchestration/epics/<epic>, beside your branches.');
  const known = lookUp<AddCommand>(commands, typed ?? '');
  for (const add of known ? [known] : Object.values(commands)) add(group, run);
}

export const registerCheckpoint: Register = (program, run) => register(program, run, undefined);

export function run(argv: readonly string[]): Promise<number> {
  return runProgram(argv, [(program, runCommand) => register(program, runCommand, wordsOf(argv)[1])]);
}
