import { readSessionsOf } from '../checkpoint/names.ts';
import { OrchError } from '../errors.ts';
import { isRunId } from '../ids.ts';
import { loadCheckpoint, verifyCheckpoints } from '../library/checkpoints.ts';
import { recordIn } from '../session/here.ts';
import {
  parseLimit,
  showCheckpoint,
  showList,
  showNotSaved,
  showTitle,
  showVerification,
} from './checkpoint-view.ts';
import { chooseEpicOf, choosePlace, epicOption, namedEpic, rememberEpic } from './choose.ts';
import { diffSpec, restoreSpec } from './code-spec.ts';
import { listOrTell } from './listing.ts';
import { listLeftOut, refuseWithoutCode } from './not-saved.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, type GroupSpec, textOf } from './spec.ts';

const create: CommandSpec = {
  name: 'create',
  description: 'Save a checkpoint. Your branch, index and files stay as they are.',
  options: [
    epicOption('the epic; it is made if needed'),
    { flags: '-r, --reason <text>', description: 'why; it becomes the summary' },
  ],
  examples: ['orch checkpoint create --epic feat-login --reason "Login form done"'],
  run: async (context, call) => {
    const reason = textOf(call, 'reason');
    const { stored, leftOut } = await context.withOrch(async (orch) => {
      const place = await choosePlace(context, orch, textOf(call, 'epic'));
      const { stored } = await recordIn(orch, place, [], { trigger: 'manual', reason: reason ?? null });
      if (stored === null) throw new Error('a checkpoint was asked for, and none was made');
      await rememberEpic(orch, place.epic);
      return { stored, leftOut: await listLeftOut(orch, stored.document) };
    });
    const { out, json } = context;
    const { checkpoint } = stored;
    if (!json) {
      out.print(showTitle(out, checkpoint, '◆ '));
      if (checkpoint.snapshot) for (const line of showNotSaved(out, checkpoint)) out.tell(`  ${line}`);
    }
    refuseWithoutCode(stored);
    if (json) out.print(JSON.stringify({ checkpoint, leftOut }));
    return 0;
  },
};

const list: CommandSpec = {
  name: 'list',
  description: "List an epic's checkpoints, newest first.",
  argument: { name: 'epic', description: 'the epic' },
  options: [
    epicOption('the epic'),
    { flags: '-n, --limit <n>', description: 'how many at the most', initial: '20' },
    { flags: '-a, --all', description: 'all of them' },
    { flags: '--run <id>', description: 'only those of this run of a plan' },
  ],
  examples: [
    'orch checkpoint list --epic feat-login',
    'orch checkpoint list --run run-x7k2mf',
    'orch checkpoint list --all --json',
  ],
  run: async (context, call) => {
    const limit = call.options.all ? Number.POSITIVE_INFINITY : parseLimit(textOf(call, 'limit') ?? '');
    const { out, json } = context;
    await context.withOrch(async (orch) => {
      const run = textOf(call, 'run');
      if (run !== undefined && !isRunId(run))
        throw new OrchError('USAGE', `${JSON.stringify(run.slice(0, 80))} is not the id of a run`, {
          hint: 'See the runs of an epic with: orch run --list -e EPIC',
        });
      const epicId = await chooseEpicOf(context, orch, namedEpic(call), run);
      const listed = await listOrTell(context, orch, epicId, run === undefined ? limit : undefined);
      const { total, damaged } = listed;
      const ofRun = run === undefined ? null : await readSessionsOf(orch, epicId, run);
      const all = listed.checkpoints.filter(({ sessionId }) => ofRun === null || ofRun.has(sessionId));
      const checkpoints = all.slice(0, limit);
      const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
      const shown = ofRun === null ? found : { ...found, total: all.length };
      out.print(json ? JSON.stringify(found) : showList(out, shown, orch.clock.now()));
    });
    return 0;
  },
};

const show: CommandSpec = {
  name: 'show',
  description: 'Show a checkpoint and what the epic knew then.',
  argument: {
    name: 'name',
    description: 'number, latest (the default), latest~2, green, s7, "2h ago", a run, an id or its beginning',
  },
  options: [epicOption('the epic')],
  examples: ['orch checkpoint show', 'orch checkpoint show 58 --epic feat-login --json'],
  run: async (context, call) => {
    const { out, json } = context;
    await context.withOrch(async (orch) => {
      const epicId = await chooseEpicOf(context, orch, textOf(call, 'epic'), call.argument);
      const loaded = await loadCheckpoint(epicId, call.argument ?? 'latest', orch);
      const leftOut = await listLeftOut(orch, loaded.document);
      if (json) return out.print(JSON.stringify({ ...loaded, leftOut }));
      const { findLostCode } = await import('../session/lost-code.ts');
      const lost = await findLostCode(orch, loaded.checkpoint);
      out.print(showCheckpoint(out, loaded, lost, leftOut));
    });
    return 0;
  },
};

const verify: CommandSpec = {
  name: 'verify',
  description: 'Read every checkpoint, of one epic or of all, and say which are damaged.',
  options: [epicOption('this epic only')],
  examples: ['orch checkpoint verify', 'orch checkpoint verify --epic feat-login --json'],
  run: async ({ out, json, withOrch }, call) => {
    const found = await withOrch((orch) => verifyCheckpoints(textOf(call, 'epic') ?? null, orch));
    out.print(json ? JSON.stringify(found) : showVerification(out, found));
    if (found.damaged.length === 0) return 0;
    throw new OrchError('INTEGRITY', `${found.damaged.length} of ${found.checked} checkpoints are damaged`, {
      hint: 'The others can be used as always: a new checkpoint does without the damaged ones.',
      data: { checked: found.checked, damaged: found.damaged.length },
    });
  },
};

export const checkpointGroup: GroupSpec = {
  name: 'checkpoint',
  summary: 'create, list, show, compare, restore and verify checkpoints',
  description: 'Checkpoints: commits on refs/orchestration/epics/<epic>, beside your branches.',
  commands: [create, list, show, diffSpec, restoreSpec, verify],
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [checkpointGroup]);
}
