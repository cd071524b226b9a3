import type { Orch } from '../orch.ts';
import type { AgentAtWork } from '../session/at-work.ts';
import { listAtWork } from '../session/at-work.ts';
import type { EpicView } from '../session/context.ts';
import { type Fate, findTakeover, type KnownSession, shownFate } from '../session/fate.ts';
import type { UnreadableEpic } from '../session/resolve.ts';
import { type EpicStatus, listElsewhere, mainSession } from '../session/status.ts';
import { isArchived } from '../state/naming.ts';
import { columnsOf, cutColumns } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatAge } from '../units.ts';
import { type Standpoint, suggestNext } from './next.ts';
import { type Column, flatten, formatTable, type Output } from './output.ts';
import type { Context } from './run.ts';
import {
  budgetColour,
  markOf,
  nameMachine,
  paintFate,
  showAmounts,
  showMoney,
  showState,
  showWhen,
} from './session-view.ts';
import { describeTime } from './start-view.ts';

export type Shown = {
  readonly views: readonly EpicView[];
  readonly epics: readonly EpicStatus[];
  readonly unreadable: readonly UnreadableEpic[];
};

/** A line of the table: an epic with its newest session, or one more session at work on it. */
type Row = {
  readonly cells: readonly string[];
  readonly fate: Fate | 'waiting' | null;
  readonly epic: EpicStatus | null;
};

/** Every epic, each agent at work on it in a line of its own, and the command that continues what waits. */
export function showEpics({ out, cwd }: Context, orch: Orch, { views, epics, unreadable }: Shown): string {
  const now = orch.clock.now();
  const isShown = ({ context, session }: EpicStatus) => context !== null && session?.status === 'running';
  // A column that would say nothing takes no room.
  const hasContext = epics.some(isShown);
  const rows = views.flatMap((view, index): Row[] => {
    const epic = epics[index];
    if (epic === undefined) return [];
    const { epicId, budget, checkpoint, context } = epic;
    const [first = { state: '–', fate: null }, ...others] = listStates(view, epic, orch, now);
    const cells = [
      epicId,
      first.state,
      showMoney(budget),
      ...(hasContext ? [context && isShown(epic) ? `${Math.floor(context.fill * 100)}%` : '–'] : []),
      !checkpoint || checkpoint.gates === 'unknown' ? '–' : checkpoint.gates,
      checkpoint ? `${checkpoint.seq}  ${showWhen(checkpoint.timestamp, now)}` : 'nothing saved yet',
    ];
    const more = others.map(({ state, fate }): Row => ({ cells: [epicId, state], fate, epic: null }));
    return [{ cells, fate: first.fate, epic }, ...more];
  });
  for (const { epicId, code } of unreadable) {
    const state = code === 'INTEGRITY' ? '✗ damaged' : '✗ needs a newer orch';
    rows.push({ cells: [epicId, state, '–'], fate: null, epic: null });
  }
  const header = ['EPIC', 'STATE', 'SPENT', ...(hasContext ? ['CONTEXT'] : []), 'GATES', 'LAST'];
  const whole = [header, ...rows.map(({ cells }) => cells)];
  const table = widthOf(whole) <= out.columns ? whole : whole.map(withoutBar(epics));
  const [head = '', ...lines] = formatTable(table, paintRows(out, rows, hasContext), out.columns).split('\n');
  return [
    out.paint('dim', head),
    ...lines,
    ...suggest(out, views, epics, { cwd, worktree: orch.repository.worktree }),
  ].join('\n');
}

/** How many columns a table takes where nothing of it is cut. */
function widthOf(table: readonly (readonly string[])[]): number {
  const widths = table[0]?.map((_, at) => Math.max(...table.map((cells) => columnsOf(cells[at] ?? ''))));
  return (widths ?? []).reduce((sum, width) => sum + width + 2, -2);
}

/** Where there is little room, the bars are what is missed least. */
const withoutBar =
  (epics: readonly EpicStatus[]) =>
  ([epicId = '', state = '', money = '', ...rest]: readonly string[]): string[] => {
    const budget = epics.find((epic) => epic.epicId === epicId)?.budget;
    return [epicId, state, budget && money === showMoney(budget) ? showAmounts(budget) : money, ...rest];
  };

/** A cell is painted by what it says: cut or padded, it is still found in its row. */
function paintRows(out: Output, rows: readonly Row[], hasContext: boolean): Column[] {
  const paintState = (text: string) => {
    const fate = rows.find(({ cells }) => cells[1] === text)?.fate ?? null;
    if (fate === null) return text;
    return fate === 'waiting' ? out.paint('yellow', text) : paintFate(out, fate, text);
  };
  const paintMoney = (text: string) => {
    const isOf = (budget: EpicStatus['budget']) => [showMoney(budget), showAmounts(budget)].includes(text);
    const budget = rows.find(({ epic }) => epic && isOf(epic.budget))?.epic?.budget;
    const isCalm = budget === undefined || budget.level === 'none' || budget.level === 'ok';
    return isCalm ? text : out.paint(budgetColour(budget), text);
  };
  const paintGates = (text: string) => (text === 'red' || text === 'green' ? out.paint(text, text) : text);
  return [
    { paint: (text) => out.paint('bold', text) },
    { paint: paintState },
    { paint: paintMoney },
    ...(hasContext ? [{}] : []),
    { paint: paintGates },
    {},
  ];
}

type State = { readonly state: string; readonly fate: Row['fate'] };

/** What the sessions of an epic are at, the main one first. */
function listStates(view: EpicView, { agents }: EpicStatus, { home, host }: Orch, now: Millis): State[] {
  const main = mainSession(view, home);
  if (main === null) return [];
  const atWork = listAtWork(view, home);
  const others = listElsewhere(view, home).map(({ value }) => `s${value.number}`);
  const elsewhere = others.length > 0 ? `, ${others.slice(0, 3).join(', ')} elsewhere` : '';
  const all = [main, ...atWork.filter(({ id }) => id !== main.id)];
  return all.map((session, place) => {
    const agent = agents.find(({ sessionId }) => sessionId === session.id) ?? null;
    const state = sayState(view, session, agent, { now, host, isAlone: all.length === 1 });
    const fate = agent?.waiting && agent.waiting.for !== 'input' ? 'waiting' : shownFate(session);
    return { state: place === 0 ? `${state}${sayBeside(view, session) ?? elsewhere}` : state, fate };
  });
}

/** What is to be known of the epic's main session besides what it is at. */
function sayBeside(view: EpicView, session: KnownSession): string | null {
  if (isArchived(view.state)) return ', archived';
  const taker = findTakeover(session, view.state);
  return taker && `, taken over by s${taker.number}`;
}

const waitingWords: { readonly [W in NonNullable<AgentAtWork['waiting']>['for']]: string } = {
  permission: 'needs permission',
  plan: 'has a plan to approve',
  question: 'asks you',
  input: 'idle',
  limit: 'at its usage limit',
};

function sayState(
  view: EpicView,
  session: KnownSession,
  agent: AgentAtWork | null,
  {
    now,
    host,
    isAlone,
  }: { readonly now: Millis; readonly host: string | undefined; readonly isAlone: boolean },
): string {
  const { value, fate } = session;
  const name = `${value.agent === null ? '' : `${flatten(value.agent)} `}s${value.number}`;
  // On this very machine its name would be taken for "here".
  if (fate === 'elsewhere' && value.host !== undefined && value.host === host)
    return '○ running in another clone';
  if (fate === 'elsewhere' && value.host !== undefined) return `○ running on ${nameMachine(view, value)}`;
  if (agent?.status === 'interrupted') return isAlone ? markOf('interrupted') : `✗ ${name} interrupted`;
  if (!agent?.waiting) return showState(session, now);
  const { for: what, since, until } = agent.waiting;
  const age = formatAge(Math.max(0, now - Date.parse(since)));
  if (what === 'input') return `● ${name} idle${age === 'now' ? '' : ` ${age}`}`;
  if (what === 'limit')
    return `… ${name} ${until ? `limited until ${describeTime(Date.parse(until), now)}` : waitingWords.limit}`;
  return `? ${name} ${waitingWords[what]}`;
}

/** What agents wait to hear from the user before they do anything else. */
export function showWaiting(out: Output, epics: readonly EpicStatus[], now: Millis): string[] {
  return epics.flatMap(({ epicId, agents }) =>
    agents.flatMap(({ number, waiting }) => {
      if (waiting === null || waiting.for === 'input' || waiting.for === 'limit') return [];
      const age = formatAge(Math.max(0, now - Date.parse(waiting.since)));
      const since = age === 'now' ? 'just now' : `for ${age}`;
      const detail = waiting.detail === null ? '' : `: ${flatten(waiting.detail)}`;
      const text = `${epicId} s${number} ${waitingWords[waiting.for]} (${since})${detail}`;
      return [`${out.paint('yellow', '?')} ${cutColumns(text, out.columns - 2)}`];
    }),
  );
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
    return next === null
      ? []
      : [{ next, isCut: epic?.agents.some(({ status }) => status === 'interrupted') ?? false }];
  });
  const first = waiting.find(({ isCut }) => isCut) ?? waiting[0];
  return first === undefined ? [] : [out.paint('dim', `Next: ${first.next}`)];
}
