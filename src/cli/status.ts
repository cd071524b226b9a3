import { countUnpushed, mostUnpushed } from '../checkpoint/unpushed.ts';
import { isOrchError } from '../errors.ts';
import { type Orch, reportLogPath } from '../orch.ts';
import type { EpicView } from '../session/context.ts';
import { findTakeover } from '../session/fate.ts';
import { type HookFault, readHookFaults } from '../session/hook-faults.ts';
import { readAllViews, type UnreadableEpic } from '../session/resolve.ts';
import { describeEpic, type EpicStatus, listElsewhere, mainSession } from '../session/status.ts';
import { isArchived } from '../state/naming.ts';
import { cutColumns } from '../text.ts';
import type { EpicId, Oid } from '../types.ts';
import { count } from '../units.ts';
import { tellDamage, tellUnreadable } from './choose.ts';
import { type Standpoint, suggestNext } from './next.ts';
import { type Column, flatten, formatTable, type Output } from './output.ts';
import { type Context, runCommands } from './run.ts';
import {
  budgetColour,
  paintFate,
  showAmounts,
  showMoney,
  showState,
  showTier,
  showWhen,
} from './session-view.ts';
import type { CommandSpec } from './spec.ts';

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
        ...describeEpic(view, orch.home),
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

/** Below this many columns there is no room for bars. */
const narrow = 72;

type Shown = {
  readonly views: readonly EpicView[];
  readonly epics: readonly EpicStatus[];
  readonly unreadable: readonly UnreadableEpic[];
};

function showEpics({ out, cwd }: Context, orch: Orch, { views, epics, unreadable }: Shown): string {
  const now = orch.clock.now();
  const sessions = views.map((view) => mainSession(view, orch.home));
  const states = views.map((view, index) => {
    const state = sessions[index] ? showState(sessions[index], now) : '–';
    const taker = sessions[index] && findTakeover(sessions[index], view.state);
    if (isArchived(view.state)) return `${state}, archived`;
    if (taker) return `${state}, taken over by s${taker.number}`;
    const others = listElsewhere(view, orch.home).map(({ value }) => `s${value.number}`);
    return others.length > 0 ? `${state}, ${others.slice(0, 3).join(', ')} elsewhere` : state;
  });
  const isShown = ({ context, session }: EpicStatus) => context !== null && session?.status === 'running';
  // A column that would say nothing takes no room.
  const hasContext = epics.some(isShown);
  const rows = epics.map((epic, index) => {
    const { epicId, budget, checkpoint, context } = epic;
    return [
      epicId,
      states[index] ?? '–',
      out.columns < narrow ? showAmounts(budget) : showMoney(budget),
      ...(hasContext ? [context && isShown(epic) ? showTier(context) : '–'] : []),
      !checkpoint || checkpoint.gates === 'unknown' ? '–' : checkpoint.gates,
      checkpoint ? `${checkpoint.seq}  ${showWhen(checkpoint.timestamp, now)}` : 'nothing saved yet',
    ];
  });
  for (const { epicId, code } of unreadable)
    rows.push([epicId, code === 'INTEGRITY' ? '✗ damaged' : '✗ needs a newer orch', '–']);
  // A cell is painted by what it says: cut or padded, it is still found in its row.
  const paintState = (text: string) => {
    const at = rows.findIndex(([, state = '']) => state === text);
    const session = sessions[at];
    return session ? paintFate(out, session.fate, text) : text;
  };
  const paintMoney = (text: string) => {
    const status = epics[rows.findIndex(([, , money]) => money === text)];
    return status && status.budget.level !== 'none' && status.budget.level !== 'ok'
      ? out.paint(budgetColour(status.budget), text)
      : text;
  };
  const paintGates = (text: string) => (text === 'red' || text === 'green' ? out.paint(text, text) : text);
  const columns: Column[] = [
    { paint: (text) => out.paint('bold', text) },
    { paint: paintState },
    { paint: paintMoney },
    ...(hasContext ? [{}] : []),
    { paint: paintGates },
    {},
  ];
  const header = ['EPIC', 'STATE', 'SPENT', ...(hasContext ? ['CONTEXT'] : []), 'GATES', 'LAST'];
  const [head = '', ...lines] = formatTable([header, ...rows], columns, out.columns).split('\n');
  return [
    out.paint('dim', head),
    ...lines,
    ...suggest(out, views, epics, { cwd, worktree: orch.repository.worktree }),
  ].join('\n');
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

/** What to do next, where something waits: what a crash cut short before all else. */
function suggest(
  out: Output,
  views: readonly EpicView[],
  epics: readonly EpicStatus[],
  standpoint: Standpoint,
): string[] {
  const waiting = views.flatMap((view, index) => {
    const epic = epics[index];
    const next = epic ? suggestNext(view, epic, standpoint) : null;
    return next === null ? [] : [{ next, isCut: epic?.session?.status === 'interrupted' }];
  });
  const first = waiting.find(({ isCut }) => isCut) ?? waiting[0];
  return first === undefined ? [] : [out.paint('dim', `Next: ${first.next}`)];
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
