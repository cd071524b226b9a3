import { endRunning, suggestNext } from '../../../../index.ts';
import { epicOption } from '../../../choose.ts';
import { printJson } from '../../../output.ts';
import { type Context, defineCommand } from '../../../run-command.ts';
import { showLeft } from '../../../session/session-lines.ts';
import { type Call, type Command, type ExitStatus, type OptionSpec, readText } from '../../../spec.ts';
import { showNotSaved, showTitle } from '../../../views/checkpoint-view.ts';
import { formatCondition, viewEpic } from '../../../views/session-view.ts';

const options: readonly OptionSpec[] = [
  epicOption('the epic; by default that of the running session'),
  { flags: '-r, --reason <text>', description: 'why; becomes the summary' },
];

export const commands: { readonly [name: string]: Command } = {
  pause: defineCommand({
    summary: 'pause the running session, with a checkpoint',
    description: 'Pause the running session: save a checkpoint and stop its command.',
    options,
    examples: ['orch pause', 'orch pause --epic feat-login --reason "End of day"'],
    run: (context, call) => runEnd(context, call, 'pause'),
  }),
  complete: defineCommand({
    summary: 'end the session: the work is done',
    description: 'Mark the work as done: end the session with a final checkpoint.',
    options,
    examples: ['orch complete', 'orch complete --epic feat-login --reason "Login works"'],
    run: (context, call) => runEnd(context, call, 'complete'),
  }),
};

/** Ends the running session; one that has ended can still be completed. */
function runEnd(context: Context, call: Call, want: 'pause' | 'complete'): Promise<ExitStatus> {
  const { out, json, cwd, settings } = context;
  return context.withOrch(async (orch) => {
    const before = await viewEpic(context, orch, readText(call, 'epic'));
    const { epic } = before;
    const reason = readText(call, 'reason') ?? null;
    const ended = await endRunning(orch, before, { want, reason, named: settings.session });
    const { session, checkpoint, budget, leftOut, condition, takenOver, failure } = ended;
    if (ended.isUnchanged) out.inform(`${epic} is already completed; nothing was changed`);
    if (ended.left.length > 0) out.inform(showLeft(out, ended.left));
    if (json) {
      if (failure) throw failure;
      return printJson(out, { session, checkpoint, budget, baseline: null, brief: null, leftOut });
    }
    if (session && condition)
      out.print(`${formatCondition(condition)}: session ${session.number} of ${epic}`);
    if (checkpoint) out.print(showTitle(out, checkpoint, '◆ '));
    if (ended.isOwnCheckpoint && checkpoint?.snapshot)
      for (const line of showNotSaved(out, checkpoint)) out.inform(`  ${line}`);
    if (takenOver) out.inform(`  ${out.paint('yellow', takenOver)}`);
    const next = suggestNext(ended.view, ended.status, { cwd, worktree: orch.repository.worktree });
    out.inform(`  Continue  ${next ?? `orch resume -e ${epic}`}`);
    if (failure) throw failure;
  });
}
