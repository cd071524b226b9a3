import { OrchError } from '../errors.ts';
import { gitFailed, withoutMonitor } from '../git/spawn.ts';
import { describeDiff } from '../library/restore.ts';
import type { Orch } from '../orch.ts';
import { readSides, withSides } from '../session/diff.ts';
import { scopeOf, showPaths } from '../session/restore-paths.ts';
import { startCommand } from '../system/command.ts';
import { onSignals, statusOfSignal } from '../system/signals.ts';
import { inheritedEnvironment } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import { count } from '../units.ts';
import { chooseEpic } from './choose.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';
import { ownWords } from './words.ts';

/** `orch diff`: finds the two trees, and leaves the rest to git. */
export function runDiff(context: Context, call: Call): Promise<number> {
  return context.withOrch((orch) => diffHere(context, orch, call));
}

async function diffHere(context: Context, orch: Orch, call: Call): Promise<number> {
  const [from = 'latest', to = null, ...others] = call.rest;
  if (others.length > 0)
    throw new OrchError('USAGE', `two checkpoints can be compared, not ${call.rest.length}`, {
      hint: `Paths stand behind --: orch diff ${from} ${to} -- ${others.join(' ')}`,
    });
  const { out, json } = context;
  const epic = await chooseEpic(context, orch, textOf(call, 'epic'), false);
  const [older, newer] = await readSides(orch, epic, from, to);
  const leftOut = [...new Set([...older.leftOut, ...newer.leftOut].map(({ path }) => path))];
  if (leftOut.length > 0 && !json) {
    const names = `${leftOut.slice(0, 5).join(', ')}${leftOut.length > 5 ? ' …' : ''}`;
    out.tell(
      out.paint('dim', `not compared, not in a snapshot: ${count(leftOut.length, 'file')} (${names})`),
    );
  }
  if (!json) return withSides(orch, [older, newer], () => showWithGit(context, call, older.tree, newer.tree));
  const scope = call.paths.length === 0 ? null : showPaths(scopeOf(orch.repository, context.cwd, call.paths));
  out.print(JSON.stringify(await describeDiff(orch, older, newer, scope)));
  return 0;
}

/** What git exits with when it gives up; a difference is 0. */
const gitDied = 128;

/** Git has the terminal: its colours, its pager, its settings. */
async function showWithGit({ cwd, argv }: Context, call: Call, from: Oid, to: Oid): Promise<number> {
  const isPlain = ownWords(argv).includes('--no-color') || Boolean(process.env.NO_COLOR);
  const args = [
    ...['git', ...withoutMonitor, '--literal-pathspecs', 'diff', ...(isPlain ? ['--no-color'] : [])],
    ...['stat', 'name-only'].filter((name) => call.options[name]).map((name) => `--${name}`),
    ...[from, to, '--', ...call.paths],
  ];
  // Ctrl+C is for the pager; this process waits for git, as git does for the pager.
  const off = onSignals(['SIGINT'], () => {});
  try {
    const git = await startCommand(args, { cwd, env: withoutPlaces(), onOutput: null });
    const { status, signal } = await git.exited;
    if (status === gitDied) throw gitFailed(['diff'], { status, stderr: 'see above' });
    return signal === null ? (status ?? 0) : statusOfSignal(signal);
  } finally {
    off();
  }
}

/** Inside a hook, these would send git to another repository; what says how it shows things stays. */
function withoutPlaces(): { readonly [name: string]: string | undefined } {
  const places =
    /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|PREFIX|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES)$/;
  const names = Object.keys(inheritedEnvironment()).filter((name) => places.test(name));
  return { ...Object.fromEntries(names.map((name) => [name, undefined])), GIT_OPTIONAL_LOCKS: '0' };
}
