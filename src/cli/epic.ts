import { epicNotFound } from '../checkpoint/list.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId } from '../ids.ts';
import { findRestorable, listEpics, restoreEpic } from '../library/epics.ts';
import type { Orch } from '../orch.ts';
import { epicExists, readView } from '../session/context.ts';
import { archiveEpic, discardEpic, readHoldings, refuseRunning } from '../session/epics.ts';
import { isSettled, refuseName, renameEpic } from '../session/rename.ts';
import type { EpicId } from '../types.ts';
import { tellUnreadable } from './choose.ts';
import { confirmFirst, confirmOptions } from './confirm.ts';
import { showArchiving, showDeleting, showEpicList, showRenaming, showRestoring } from './epic-view.ts';
import { type Context, runCommands } from './run.ts';
import type { Call, CommandSpec, GroupSpec } from './spec.ts';

const list: CommandSpec = {
  name: 'list',
  description: 'List the epics, the last used first; with --all those that are archived or in the trash too.',
  options: [{ flags: '-a, --all', description: 'archived and deleted ones too' }],
  examples: ['orch epic list', 'orch epic list --all --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const { out, json } = context;
      const { epics, unreadable } = await listEpics({ all: call.options.all === true }, orch);
      if (json) out.print(JSON.stringify({ epics, ...(unreadable.length > 0 && { unreadable }) }));
      else if (epics.length === 0)
        out.tell('No active epics. See archived and deleted ones: orch epic list --all');
      else out.print(showEpicList(out, epics, orch.clock.now()));
      tellUnreadable(context, unreadable);
      return 0;
    }),
};

const rename: CommandSpec = {
  name: 'rename',
  description:
    'Give an epic another name. Its history, budget and snapshots go along; clones that sync follow.',
  argument: {
    name: 'names',
    required: true,
    several: true,
    description: 'the name it has, then the name it gets',
  },
  options: confirmOptions,
  examples: ['orch epic rename feat-login login', 'orch epic rename feat-login login -y --json'],
  run: (context, call) => {
    const [given = '', name, ...more] = call.rest;
    if (name === undefined || more.length > 0)
      throw new OrchError('USAGE', 'a rename takes two names: the one it has, and the one it gets', {
        hint: `Try: orch epic rename ${given} new-name`,
      });
    const [from, to] = [parseEpicId(given), parseEpicId(name)];
    return change(context, call, from, `Rename ${from} to ${to}?`, async (orch) => {
      if (await isSettled(orch, from, to))
        return { lines: [], act: null, epicId: to, said: `${from} is called ${to} now` };
      const held = await readEpic(orch, from);
      await refuseName(orch, from, to);
      const act = () => renameEpic(orch, from, to);
      return { lines: showRenaming(held, to), act, epicId: to, said: `${from} is called ${to} now` };
    });
  },
};

const archive: CommandSpec = {
  name: 'archive',
  description: 'Put an epic away: orch status no longer shows it. Nothing is deleted.',
  argument: { name: 'epic', required: true, description: 'its name' },
  options: confirmOptions,
  examples: ['orch epic archive feat-login', 'orch epic archive feat-login -y'],
  run: (context, call) => {
    const epic = parseEpicId(call.argument ?? '');
    return change(context, call, epic, `Archive ${epic}?`, async (orch) => {
      const held = await readEpic(orch, epic);
      if (held.archived) return { ...nothingToDo, epicId: epic, said: `${epic} is archived already` };
      const act = async () => void (await archiveEpic(orch, epic, true));
      return { lines: showArchiving(held), act, epicId: epic, said: `${epic} is archived` };
    });
  },
};

const remove: CommandSpec = {
  name: 'delete',
  description: 'Move an epic to the trash, from which orch epic restore brings it back.',
  argument: { name: 'epic', required: true, description: 'its name' },
  options: confirmOptions,
  examples: ['orch epic delete spike', 'orch epic delete spike --dry-run'],
  run: (context, call) => {
    const epic = parseEpicId(call.argument ?? '');
    return change(context, call, epic, `Delete ${epic}?`, async (orch) => {
      const held = await readEpic(orch, epic);
      const { trash } = (await orch.readConfig()).retention;
      const act = async () => void (await discardEpic(orch, epic));
      return { lines: showDeleting(held, trash), act, epicId: epic, said: `${epic} is in the trash` };
    });
  },
};

const restore: CommandSpec = {
  name: 'restore',
  description: 'Bring an epic back from the archive or the trash.',
  argument: { name: 'epic', required: true, description: 'its name' },
  options: confirmOptions,
  examples: ['orch epic restore feat-login', 'orch epic restore spike -y'],
  run: (context, call) => {
    const epic = parseEpicId(call.argument ?? '');
    return change(context, call, epic, `Restore ${epic}?`, async (orch) => {
      const found = await findRestorable(orch, epic);
      const deletedAt = found.kind === 'trashed' ? found.at : null;
      const lines = showRestoring(epic, deletedAt, orch.clock.now());
      return { lines, act: () => restoreEpic(epic, orch), epicId: epic, said: `${epic} is back` };
    });
  },
};

type Change = {
  readonly lines: readonly string[];
  readonly act: (() => Promise<void>) | null;
  readonly epicId: EpicId;
  readonly said: string;
};

const nothingToDo = { lines: [], act: null };

async function readEpic(orch: Orch, epic: EpicId) {
  const view = await readView(orch, epic);
  if (!epicExists(view)) throw epicNotFound(epic);
  refuseRunning(orch, epic);
  return readHoldings(orch, view);
}

/** Says what it will do, asks, and does it. */
function change(
  context: Context,
  call: Call,
  epic: EpicId,
  question: string,
  prepare: (orch: Orch) => Promise<Change>,
): Promise<number> {
  return context.withOrch(async (orch) => {
    const { out, json } = context;
    const { lines, act, epicId, said } = await prepare(orch);
    const isDryRun = call.options['dry-run'] === true;
    if (act) {
      const status = await confirmFirst(context, call, lines, question);
      if (json && isDryRun) out.print(JSON.stringify({ epicId, from: epic, done: false, says: lines }));
      if (status !== null) return status;
      await act();
    }
    out.print(
      json ? JSON.stringify({ epicId, from: epic, done: act !== null }) : `${act ? '✓ ' : ''}${said}`,
    );
    return 0;
  });
}

export const epicGroup: GroupSpec = {
  name: 'epic',
  summary: 'list, rename, archive, delete and restore epics',
  description:
    'Manage whole epics. Each change first says what it does to the budget, snapshots and remotes, and asks.',
  commands: [list, rename, archive, remove, restore],
  initial: 'list',
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [epicGroup]);
}
