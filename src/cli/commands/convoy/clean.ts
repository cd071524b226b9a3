import { cleanConvoy, listLeftWorktrees } from '../../../index.ts';
import { count } from '../../../units.ts';
import { epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { chooseConvoy } from './look.ts';

export const command = defineCommand({
  summary: 'remove the worktrees a convoy has left',
  description:
    'Remove the worktrees of a convoy that does not work now, such as those of failed and cancelled tasks. What is uncommitted there is committed on the branch of its task first. A task that continues later gets a new worktree.',
  argument: { name: 'convoy', description: 'a convoy, or its plan; the newest by default' },
  options: [
    epicOption('the epic of the convoy'),
    { flags: '--dry-run', description: 'show what would be removed, and remove nothing' },
  ],
  examples: ['orch convoy clean auth --dry-run', 'orch convoy clean auth'],
  run: inRepository(async (context, orch, call) => {
    const { out, json } = context;
    const convoy = await chooseConvoy(context, orch, call);
    if (call.options['dry-run'] === true) {
      const paths = listLeftWorktrees(orch, convoy).map(({ path }) => path);
      if (json) return printJson(out, { removed: [], kept: [], wouldRemove: paths });
      for (const path of paths) out.print(`would remove ${path}`);
      out.print(`${count(paths.length, 'worktree')} of ${convoy.epic}; nothing was removed.`);
      return undefined;
    }
    const cleaned = await cleanConvoy(orch, convoy);
    const removed = cleaned.filter(({ kept }) => kept === null).map(({ path }) => path);
    const kept = cleaned.filter((each) => each.kept !== null);
    if (json) return printJson(out, { removed, kept });
    for (const path of removed) out.print(`removed ${path}`);
    for (const { path, kept: why } of kept) out.print(`kept ${path}: ${why}`);
    if (cleaned.length === 0) out.print(`${convoy.epic} has left no worktrees.`);
    return undefined;
  }),
});
