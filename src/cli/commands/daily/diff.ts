import { OrchError } from '../../../errors.ts';
import { type DiffSides, diffCheckpoints, type Orch, withDiffSides } from '../../../index.ts';
import { startCommand } from '../../../system/process/command.ts';
import { onSignals, statusOfSignal } from '../../../system/process/signals.ts';
import { inheritedEnvironment } from '../../../system/process/spawn.ts';
import { count } from '../../../units.ts';
import { chooseEpic, epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type ExitStatus, readText, takeOwnWords } from '../../spec.ts';

export const command = defineCommand({
  summary: 'code between checkpoints, or one and now',
  description:
    "Show the difference between the code of two checkpoints, or between one and your current files, with git's own diff and pager.",
  argument: {
    name: 'checkpoints',
    several: true,
    description:
      'one or two: number, latest (the default), latest~2, green, s7 (alone: what session 7 did), "2h ago", an id, a commit; after --: paths',
    names: 'checkpoint',
  },
  takesPaths: true,
  options: [
    epicOption(),
    { flags: '--stat', description: 'only how much changed in each file' },
    { flags: '--name-only', description: 'only the names of files' },
  ],
  examples: ['orch diff', 'orch diff green', 'orch diff 51 58 --stat', 'orch diff s7 -- src'],
  run: inRepository(diffHere),
});

async function diffHere(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const [from = 'latest', to = null, ...others] = call.rest;
  if (others.length > 0)
    throw new OrchError('USAGE', `at most two checkpoints can be compared, not ${call.rest.length}`, {
      hint: `Put -- before paths: orch diff ${from} ${to} -- ${others.join(' ')}`,
    });
  const { out, json } = context;
  const epicId = await chooseEpic(context, orch, readText(call, 'epic'), false);
  const input = { epicId, from, to, ...(call.paths.length > 0 && { paths: call.paths, cwd: context.cwd }) };
  if (json) return printJson(out, await diffCheckpoints(input, orch));
  const show = (sides: DiffSides) => {
    const { notCompared } = sides;
    if (notCompared.length > 0) {
      const names = `${notCompared.slice(0, 5).join(', ')}${notCompared.length > 5 ? ' …' : ''}`;
      const files = `${count(notCompared.length, 'file')} (${names})`;
      out.inform(out.paint('dim', `not compared, because not in a snapshot: ${files}`));
    }
    const { from: older, to: newer, gitOptions } = sides;
    return showWithGit(context, call, { from: older.tree, to: newer.tree, gitOptions });
  };
  return withDiffSides(input, show, orch);
}

/** The exit status of a failed git; a difference exits with 0. */
const gitDied = 128;

/** Two trees or commits, and options for the git that compares them. */
type Compared = { readonly from: string; readonly to: string; readonly gitOptions: readonly string[] };

/** Gives git the terminal, so that its own colors, pager and settings apply. */
export async function showWithGit({ cwd, argv }: Context, call: Call, sides: Compared): Promise<number> {
  const isPlain = takeOwnWords(argv).includes('--no-color') || Boolean(process.env.NO_COLOR);
  const args = [
    ...['git', ...sides.gitOptions, '--literal-pathspecs', 'diff', ...(isPlain ? ['--no-color'] : [])],
    ...['stat', 'name-only'].filter((name) => call.options[name]).map((name) => `--${name}`),
    ...[sides.from, sides.to, '--', ...call.paths],
  ];
  // Ctrl+C is for the pager: orch waits for git, as git waits for the pager.
  const off = onSignals(['SIGINT'], () => {});
  try {
    const git = await startCommand(args, { cwd, env: unsetGitPlaces(), onOutput: null });
    const { status, signal } = await git.exited;
    if (status === gitDied)
      throw new OrchError('GIT_FAILED', 'git diff failed, see above', {
        hint: 'Check the repository with: git fsck',
        data: { status },
      });
    return signal === null ? (status ?? 0) : statusOfSignal(signal);
  } finally {
    off();
  }
}

/** Unsets the variables that, inside a hook, would send git to another repository. */
function unsetGitPlaces(): { readonly [name: string]: string | undefined } {
  const places =
    /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|PREFIX|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/;
  const names = Object.keys(inheritedEnvironment()).filter((name) => places.test(name));
  return { ...Object.fromEntries(names.map((name) => [name, undefined])), GIT_OPTIONAL_LOCKS: '0' };
}
