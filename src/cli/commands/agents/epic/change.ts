import { OrchError } from '../../../../errors.ts';
import { parseEpicId } from '../../../../ids.ts';
import {
  archiveEpic,
  deleteEpic,
  type EpicHoldings,
  findRestorable,
  type Orch,
  prepareRename,
  readHoldings,
  renameEpic,
  restoreEpic,
} from '../../../../index.ts';
import type { EpicId } from '../../../../types.ts';
import { count, formatAge } from '../../../../units.ts';
import { confirmFirst, confirmOptions } from '../../../confirm.ts';
import { printJson } from '../../../output.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import type { Command, CommandSpec } from '../../../spec.ts';
import { showAmounts } from '../../../views/money-view.ts';
import { formatAgo } from '../../../views/time-view.ts';

/** A change to an epic, ready to be confirmed. */
type Change = {
  readonly lines: readonly string[];
  readonly question: string;
  /** Null if nothing is left to do. */
  readonly act: (() => Promise<void>) | null;
  /** The epic's name before and after. */
  readonly from: EpicId;
  readonly epicId: EpicId;
  readonly doneMessage: string;
};

/** Makes a command that shows what it will do to an epic, asks, and does it. */
function defineChange(
  spec: Pick<CommandSpec, 'description' | 'argument' | 'examples'>,
  prepare: (orch: Orch, words: readonly string[]) => Promise<Change>,
): Command {
  return defineCommand({
    argument: { name: 'epic', required: true, description: 'its name' },
    ...spec,
    options: confirmOptions,
    run: inRepository(async (context, orch, call) => {
      const { out, json } = context;
      const { lines, question, act, from, epicId, doneMessage } = await prepare(orch, call.rest);
      const isDryRun = call.options['dry-run'] === true;
      if (act) {
        const status = await confirmFirst(context, call, lines, question);
        if (json && isDryRun) printJson(out, { epicId, from, done: false, says: lines });
        if (status !== null) return status;
        await act();
      }
      const document = { epicId, from, done: act !== null };
      return answer(context, document, () => `${act ? '✓ ' : ''}${doneMessage}`);
    }),
  });
}

export const commands: { readonly [name: string]: Command } = {
  rename: defineChange(
    {
      description: 'Rename an epic. Its history, budget and snapshots move along; clones that sync follow.',
      argument: {
        name: 'names',
        required: true,
        several: true,
        description: 'the old name, then the new one',
      },
      examples: ['orch epic rename feat-login login', 'orch epic rename feat-login login -y --json'],
    },
    async (orch, [given = '', name, ...more]) => {
      if (name === undefined || more.length > 0)
        throw new OrchError('USAGE', 'a rename takes two names: the old one and the new one', {
          hint: `Try: orch epic rename ${given} new-name`,
        });
      const [from, to] = [parseEpicId(given), parseEpicId(name)];
      const held = await prepareRename(orch, from, to);
      const lines = held && [
        `Rename ${from} to ${to}: ${showHoldings(held)}.`,
        '  Its budget, history and snapshots move along. Older checkpoints keep the old name in their text.',
        ...(held.remotes.length > 0
          ? [`  The next orch sync sends ${to}; other clones rename theirs when they sync.`]
          : []),
        ...showRemotes(held, 'also keeps the old name, which no sync brings back'),
      ];
      return {
        lines: lines ?? [],
        question: `Rename ${from} to ${to}?`,
        act: held && (() => renameEpic(from, to, orch)),
        from,
        epicId: to,
        doneMessage: `${from} is now called ${to}`,
      };
    },
  ),

  archive: defineChange(
    {
      description: 'Archive an epic: orch status no longer shows it. Nothing is deleted.',
      examples: ['orch epic archive feat-login', 'orch epic archive feat-login -y'],
    },
    async (orch, [given = '']) => {
      const epic = parseEpicId(given);
      const held = await readHoldings(orch, epic);
      return {
        lines: [
          `Archive ${epic}: orch status will no longer show it. It has ${showHoldings(held)}.`,
          '  Nothing is deleted. Its budget, checkpoints and snapshots stay, and every command can read them.',
          ...(held.remotes.length > 0 ? ['  Other clones archive it when they sync.'] : []),
          `  Undo: orch epic restore ${epic}`,
        ],
        question: `Archive ${epic}?`,
        act: held.archived ? null : () => archiveEpic(epic, orch),
        from: epic,
        epicId: epic,
        doneMessage: held.archived ? `${epic} is already archived` : `${epic} is archived`,
      };
    },
  ),

  delete: defineChange(
    {
      description: 'Move an epic to the trash; orch epic restore brings it back.',
      examples: ['orch epic delete spike', 'orch epic delete spike --dry-run'],
    },
    async (orch, [given = '']) => {
      const epic = parseEpicId(given);
      const held = await readHoldings(orch, epic);
      const { trash } = (await orch.readConfig()).retention;
      const long = trash === null ? 'until you empty it' : `for ${formatAge(trash)}`;
      const files = held.snapshots > 0 ? ' with its snapshots' : '';
      return {
        lines: [
          `Delete ${epic}: moves it to the trash, with ${showHoldings(held)}.`,
          `  The trash keeps it${files} ${long}. Its budget and what it spent go with it.`,
          ...showRemotes(
            held,
            'keeps its copy; a sync brings it back here only if another clone works on it',
          ),
          `  Undo: orch epic restore ${epic}`,
        ],
        question: `Delete ${epic}?`,
        act: () => deleteEpic(epic, orch),
        from: epic,
        epicId: epic,
        doneMessage: `${epic} is in the trash`,
      };
    },
  ),

  restore: defineChange(
    {
      description: 'Bring an epic back from the archive or the trash.',
      examples: ['orch epic restore feat-login', 'orch epic restore spike -y'],
    },
    async (orch, [given = '']) => {
      const epic = parseEpicId(given);
      const found = await findRestorable(orch, epic);
      const lines =
        found.kind === 'trashed'
          ? [
              `Bring ${epic} back from the trash (deleted ${formatAgo(orch.clock.now() - found.at, 'just now')}).`,
              '  Its checkpoints, budget and costs come back with it. Remotes are not changed.',
            ]
          : [`Unarchive ${epic}: orch status will show it again.`];
      return {
        lines,
        question: `Restore ${epic}?`,
        act: () => restoreEpic(epic, orch),
        from: epic,
        epicId: epic,
        doneMessage: `${epic} is restored`,
      };
    },
  ),
};

/** `58 checkpoints, $4.10/$20.00 spent, the files of 3 sessions` */
function showHoldings({ checkpoints, budget, snapshots }: EpicHoldings): string {
  const files = snapshots > 0 ? [`the files of ${count(snapshots, 'session')}`] : [];
  return [count(checkpoints, 'checkpoint'), `${showAmounts(budget)} spent`, ...files].join(', ');
}

/** Shows how to do the same on remotes, where orch never deletes anything. */
function showRemotes({ epicId, remotes }: EpicHoldings, what: string): string[] {
  const ref = `refs/orchestration/epics/${epicId}`;
  return remotes.map(
    (remote) => `  ${remote} ${what}. To remove it there: git push ${remote} --delete ${ref}`,
  );
}
