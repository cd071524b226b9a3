import { countUnpushed, mostUnpushed } from '../checkpoint/unpushed.ts';
import { isOrchError } from '../errors.ts';
import { type Orch, reportLogPath } from '../orch.ts';
import type { EpicView } from '../session/context.ts';
import { type HookFault, readHookFaults } from '../session/hook-faults.ts';
import { readAllViews } from '../session/resolve.ts';
import { describeEpic, type EpicStatus } from '../session/status.ts';
import { isArchived } from '../state/naming.ts';
import { cutColumns } from '../text.ts';
import type { EpicId, Oid } from '../types.ts';
import { count } from '../units.ts';
import { tellDamage, tellUnreadable } from './choose.ts';
import { flatten, type Output } from './output.ts';
import { runCommands } from './run.ts';
import { showWhen } from './session-view.ts';
import type { CommandSpec } from './spec.ts';
import { showEpics, showWaiting } from './status-view.ts';

export const statusSpec: CommandSpec = {
  name: 'status',
  summary: 'every epic: state, money, gates, last checkpoint',
  description: 'Show every epic: state, money, gates, last checkpoint.',
  options: [{ flags: '-a, --all', description: 'archived epics too' }],
  examples: ['orch status', 'orch status --all', 'orch status --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const { out, json } = context;
      const { views: found, unreadable } = await readAllViews(orch);
      const views = call.options.all ? found : found.filter(({ state }) => !isArchived(state));
      const hidden = found.length - views.length;
      views.sort((a, b) => b.state.clock - a.state.clock);
      const unpushed = await countUnpushed(orch, tipsOf(views)).catch(tellUncounted(orch));
      const epics = views.map((view) => ({
        ...describeEpic(view, orch.home, orch.clock.now()),
        ...(isArchived(view.state) && { archived: true }),
        ...(unpushed && { unpushed: unpushed.get(view.epic) ?? 0 }),
      }));
      const faults = readHookFaults(orch.home, orch.clock.now());
      if (json) out.print(JSON.stringify({ epics, faults, ...(unreadable.length > 0 && { unreadable }) }));
      else if (views.length + unreadable.length === 0 && hidden > 0) out.tell(showHidden(out, hidden));
      else if (views.length + unreadable.length === 0) {
        out.tell(
          'no epics yet. Agents that orch init hooked into begin one; by hand: orch start --epic my-feature',
        );
      } else
        out.print(
          [
            showEpics(context, orch, { views, epics, unreadable }),
            ...showWaiting(out, epics, orch.clock.now()),
            ...showQuestions(out, epics),
            ...showWithoutCode(out, views),
            ...showUnpushed(out, epics),
            ...(hidden > 0 ? [showHidden(out, hidden)] : []),
          ].join('\n'),
        );
      if (!json && faults.length > 0) out.print(showFaults(out, orch, faults));
      for (const view of views) tellDamage(context, view);
      tellUnreadable(context, unreadable);
      return 0;
    }),
};

function showHidden(out: Output, hidden: number): string {
  return out.paint('dim', `${count(hidden, 'archived epic')} not shown: orch status --all`);
}

/** A history with a gap cannot be counted; doctor says what is missing. */
function tellUncounted(orch: Orch) {
  return (error: unknown) => {
    if (!isOrchError(error)) throw error;
    orch.report(`what is not pushed yet could not be counted (${error.message}); see: orch doctor`);
    return null;
  };
}

function tipsOf(views: readonly EpicView[]): Map<EpicId, Oid> {
  return new Map(views.flatMap(({ epic, tip }) => (tip.oid === null ? [] : [[epic, tip.oid] as const])));
}

/** What agents wait to hear from the user, while they work on something else. */
function showQuestions(out: Output, epics: readonly EpicStatus[]): string[] {
  return epics.flatMap(({ epicId, questions }) =>
    questions.map(({ id, text }) => {
      const line = cutColumns(`${epicId} asks: ${flatten(text)}`, out.columns - 2);
      const hint = `  Answer: orch record question ${id} --answer "…" -e ${epicId}`;
      return `${out.paint('yellow', '?')} ${line}\n${out.paint('dim', hint)}`;
    }),
  );
}

/** A checkpoint that was made by itself, and whose code could not be saved: nobody was there to be told. */
function showWithoutCode(out: Output, views: readonly EpicView[]): string[] {
  return views.flatMap(({ epic, saved }) => {
    const { seq, snapshotFailed } = saved?.document ?? {};
    if (snapshotFailed === undefined) return [];
    const text = `${epic}: checkpoint ${seq} was made without the code: ${flatten(snapshotFailed)}`;
    return [`${out.paint('yellow', '!')} ${text}\n  Save it: orch checkpoint create -e ${epic}`];
  });
}

/** What other machines cannot see yet; nothing where there are no others. */
function showUnpushed(
  out: Output,
  epics: readonly (EpicStatus & { readonly unpushed?: number })[],
): string[] {
  const total = epics.reduce((sum, { unpushed = 0 }) => sum + unpushed, 0);
  if (total === 0) return [];
  const amount = total >= mostUnpushed ? `${mostUnpushed} or more checkpoints` : count(total, 'checkpoint');
  const names = epics.filter(({ unpushed = 0 }) => unpushed > 0).map(({ epicId }) => epicId);
  const shown = [...names.slice(0, 5), ...(names.length > 5 ? ['…'] : [])].join(', ');
  return [out.paint('dim', `Unpushed: ${amount} (${shown}). Share: orch sync`)];
}

/** What hooks could not do: the agent was not told of it, and what it did meanwhile may be missing. */
function showFaults(out: Output, orch: Orch, faults: readonly HookFault[]): string {
  const now = orch.clock.now();
  const lines = faults.map(({ at, agent, event, message, count: times }) => {
    const often = times === 1 ? '' : `, ${times} times`;
    return `${out.paint('yellow', '!')} ${agent} hook failed (${event.replaceAll('_', ' ')}, ${showWhen(at, now)}${often}): ${message}`;
  });
  return [...lines, out.paint('dim', `  Log: ${reportLogPath(orch.home)}`)].join('\n');
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [statusSpec]);
}
