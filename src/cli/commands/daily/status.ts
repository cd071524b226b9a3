import {
  type ConvoyInfo,
  type EpicOverview,
  type EpicStatus,
  type KnownConvoy,
  mostUnpushed,
  type Orch,
  type Overview,
  readConvoy,
  readOverview,
  reportLogPath,
  type SessionState,
  showConvoy,
  type TaskState,
} from '../../../index.ts';
import { columnsOf, cutColumns } from '../../../text.ts';
import type { Millis } from '../../../types.ts';
import { count, formatAge } from '../../../units.ts';
import { printUnreadable } from '../../choose.ts';
import { type Column, flatten, type Output, printJson, showTable } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { paintGates } from '../../views/checkpoint-view.ts';
import { formatConvoy } from '../../views/convoy-view.ts';
import { paintMoney, showAmounts, showMoney } from '../../views/money-view.ts';
import { formatCondition, paintCondition } from '../../views/session-view.ts';
import { describeTime, formatWhen } from '../../views/time-view.ts';

export const command = defineCommand({
  summary: 'every epic: state, money, gates, last checkpoint',
  description: 'Show every epic: state, money, gates, last checkpoint.',
  options: [{ flags: '-a, --all', description: 'also archived epics' }],
  examples: ['orch status', 'orch status --all', 'orch status --json'],
  run: inRepository(async (context, orch, call) => {
    const { out, json, cwd } = context;
    const overview = await readOverview({ all: call.options.all === true, cwd }, orch);
    const { epics, unreadable, faults } = overview;
    const now = orch.clock.now();
    const convoys = await summarizeConvoys(orch, overview);
    if (json) {
      const statuses = epics.map(({ status }) => {
        const convoy = convoys.find(({ epicId }) => epicId === status.epicId);
        return convoy === undefined ? status : { ...status, convoy };
      });
      return printJson(out, { epics: statuses, faults, ...(unreadable.length > 0 && { unreadable }) });
    }
    if (epics.length + unreadable.length > 0) out.print(show(out, overview, convoys, now));
    else if (overview.hidden > 0) out.inform(showHidden(out, overview.hidden));
    else
      out.inform(
        'No epics yet. Start one: orch start --epic my-feature. Or connect your agent, which then starts them: orch init',
      );
    if (faults.length > 0) out.print(showFaults(out, faults, reportLogPath(orch.home), now));
    printUnreadable(context, unreadable);
  }),
});

/** Describes the convoys among the epics, with the tasks that wait for a person. */
async function summarizeConvoys(orch: Orch, { epics }: Overview): Promise<ConvoyInfo[]> {
  const found: ConvoyInfo[] = [];
  for (const { status, isConvoy } of epics) {
    const known = isConvoy ? await readConvoy(orch, status.epicId) : null;
    if (known !== null) found.push(await describeConvoy(orch, known));
  }
  return found;
}

async function describeConvoy(orch: Orch, known: KnownConvoy): Promise<ConvoyInfo> {
  const convoy = await showConvoy(orch, known);
  const tasks = convoy.tasks.filter(({ status }) => needPeople.includes(status));
  return { ...convoy, tasks, unlisted: 0 };
}

const needPeople: readonly TaskState[] = ['needs_input', 'held', 'failed'];

function show(out: Output, overview: Overview, convoys: readonly ConvoyInfo[], now: Millis): string {
  const { epics, hidden } = overview;
  const statuses = epics.map(({ status }) => status);
  return [
    showEpics(out, overview, now),
    ...suggest(out, epics, convoys),
    ...showWaiting(out, statuses, now),
    ...showQuestions(out, statuses),
    ...convoys.flatMap((convoy) => showConvoyLines(out, convoy, now)),
    ...showWithoutCode(out, epics),
    ...showUnpushed(out, statuses),
    ...(hidden > 0 ? [showHidden(out, hidden)] : []),
  ].join('\n');
}

function showHidden(out: Output, hidden: number): string {
  return out.paint('dim', `${count(hidden, 'archived epic')} not shown: orch status --all`);
}

/** A row of the table: an epic with its main session, or one more session of it. */
type Row = {
  readonly cells: readonly string[];
  readonly condition: SessionState['condition'] | 'waiting' | null;
  readonly epic: EpicStatus | null;
};

/** Shows every epic, with one row for each agent working on it. */
function showEpics(out: Output, { epics, unreadable }: Overview, now: Millis): string {
  const isShown = ({ context, session }: EpicStatus) => context !== null && session?.status === 'running';
  const statuses = epics.map(({ status }) => status);
  const hasContext = statuses.some(isShown);
  const rows = epics.flatMap((epic): Row[] => {
    const { epicId, budget, checkpoint, context } = epic.status;
    const [first = { state: '–', condition: null }, ...others] = listStates(epic, now);
    const cells = [
      epicId,
      first.state,
      showMoney(budget),
      ...(hasContext ? [context && isShown(epic.status) ? `${Math.floor(context.fill * 100)}%` : '–'] : []),
      !checkpoint || checkpoint.gates === 'unknown' ? '–' : checkpoint.gates,
      checkpoint ? `${checkpoint.seq}  ${formatWhen(checkpoint.timestamp, now)}` : 'nothing saved yet',
    ];
    const more = others.map(
      ({ state, condition }): Row => ({ cells: [epicId, state], condition, epic: null }),
    );
    return [{ cells, condition: first.condition, epic: epic.status }, ...more];
  });
  for (const { epicId, code } of unreadable) {
    const state = code === 'INTEGRITY' ? '✗ damaged' : '✗ needs a newer orch';
    rows.push({ cells: [epicId, state, '–'], condition: null, epic: null });
  }
  const header = ['EPIC', 'STATE', 'SPENT', ...(hasContext ? ['CONTEXT'] : []), 'GATES', 'LAST'];
  const whole = [header, ...rows.map(({ cells }) => cells)];
  const table = widthOf(whole) <= out.columns ? whole : whole.map(withoutBar(statuses));
  return showTable(out, header, table.slice(1), paintRows(out, rows, hasContext));
}

/** The width of a table if nothing is cut. */
function widthOf(table: readonly (readonly string[])[]): number {
  const widths = table[0]?.map((_, at) => Math.max(...table.map((cells) => columnsOf(cells[at] ?? ''))));
  return (widths ?? []).reduce((sum, width) => sum + width + 2, -2);
}

/** In a narrow terminal the bars go first. */
const withoutBar =
  (epics: readonly EpicStatus[]) =>
  ([epicId = '', state = '', money = '', ...rest]: readonly string[]): string[] => {
    const budget = epics.find((epic) => epic.epicId === epicId)?.budget;
    return [epicId, state, budget && money === showMoney(budget) ? showAmounts(budget) : money, ...rest];
  };

/** Finds each cell's color by its text. */
function paintRows(out: Output, rows: readonly Row[], hasContext: boolean): Column[] {
  const paintState = (text: string) => {
    const condition = rows.find(({ cells }) => cells[1] === text)?.condition ?? null;
    if (condition === null) return text;
    return condition === 'waiting' ? out.paint('yellow', text) : paintCondition(out, condition, text);
  };
  const paintSpent = (text: string) => {
    const isOf = (budget: EpicStatus['budget']) => [showMoney(budget), showAmounts(budget)].includes(text);
    const budget = rows.find(({ epic }) => epic && isOf(epic.budget))?.epic?.budget;
    return budget === undefined ? text : paintMoney(out, budget, text);
  };
  return [
    { paint: (text) => out.paint('bold', text) },
    { paint: paintState },
    { paint: paintSpent },
    ...(hasContext ? [{}] : []),
    { paint: (text) => paintGates(out, text) },
    {},
  ];
}

type State = { readonly state: string; readonly condition: Row['condition'] };

/** Describes the sessions of an epic, the main one first. */
function listStates({ status, sessions, elsewhere, takenOverBy }: EpicOverview, now: Millis): State[] {
  const others = elsewhere.slice(0, 3).map((number) => `s${number}`);
  const beside = status.archived
    ? ', archived'
    : takenOverBy !== null
      ? `, taken over by s${takenOverBy}`
      : others.length > 0
        ? `, ${others.join(', ')} elsewhere`
        : '';
  return sessions.map((session, place) => {
    const agent = status.agents.find(({ sessionId }) => sessionId === session.sessionId) ?? null;
    const state = describeState(session, agent, now, sessions.length === 1);
    const condition = agent?.waiting && agent.waiting.for !== 'input' ? 'waiting' : session.shownCondition;
    return { state: place === 0 ? `${state}${beside}` : state, condition };
  });
}

type AgentAtWork = EpicStatus['agents'][number];

const waitingWords: { readonly [W in NonNullable<AgentAtWork['waiting']>['for']]: string } = {
  permission: 'needs permission',
  plan: 'has a plan to approve',
  question: 'asks you',
  input: 'idle',
  limit: 'at its usage limit',
};

function describeState(
  { agent: agentName, number, condition, startedAt, runsOn }: SessionState,
  agent: AgentAtWork | null,
  now: Millis,
  isAlone: boolean,
): string {
  const name = `${agentName === null ? '' : `${flatten(agentName)} `}s${number}`;
  if (runsOn?.kind === 'clone') return '○ running in another clone';
  if (runsOn !== null) return `○ running on ${flatten(runsOn.name)}`;
  if (agent?.status === 'interrupted')
    return isAlone ? formatCondition('interrupted') : `✗ ${name} interrupted`;
  if (!agent?.waiting) {
    if (condition !== 'running' && condition !== 'initializing') return formatCondition(condition);
    return `● ${agentName ?? 'session'} s${number} ${formatAge(Math.max(0, now - Date.parse(startedAt)))}`;
  }
  const { for: what, since, until } = agent.waiting;
  const age = formatAge(Math.max(0, now - Date.parse(since)));
  if (what === 'input') return `● ${name} idle${age === 'now' ? '' : ` ${age}`}`;
  if (what === 'limit')
    return `… ${name} ${until ? `limited until ${describeTime(Date.parse(until), now)}` : waitingWords.limit}`;
  return `? ${name} ${waitingWords[what]}`;
}

/** Shows the agents that wait for the user before they continue. */
function showWaiting(out: Output, epics: readonly EpicStatus[], now: Millis): string[] {
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

/** Suggests the next command; an epic that a crash interrupted comes first. */
function suggest(out: Output, epics: readonly EpicOverview[], convoys: readonly ConvoyInfo[]): string[] {
  const waiting = epics.filter(({ next }) => next !== null);
  const isInterrupted = ({ status }: EpicOverview) =>
    status.agents.some((agent) => agent.status === 'interrupted');
  const first = waiting.find(isInterrupted) ?? waiting[0];
  if (first === undefined) return [];
  // A convoy that is resumed before its questions are answered stops at them again.
  const { epicId } = first.status;
  const convoy = convoys.find((each) => each.epicId === epicId);
  const asking = convoy?.tasks.find(({ status }) => status === 'needs_input');
  const next = asking === undefined ? first.next : `orch convoy say ${epicId}/${asking.id} "…"`;
  return [out.paint('dim', `Next: ${next}`)];
}

/** A convoy at work, and what waits for a person in any: a few lines each. */
function showConvoyLines(out: Output, convoy: ConvoyInfo, now: Millis): string[] {
  const isQuiet = convoy.tasks.length === 0 && convoy.status !== 'running';
  if (isQuiet) return [];
  const tasks = convoy.tasks.slice(0, mostTasks);
  return formatConvoy(out, { ...convoy, tasks, unlisted: convoy.tasks.length - tasks.length }, now);
}

/** How many tasks of a convoy are shown among all epics. */
const mostTasks = 5;

/** Shows the questions agents have left for the user while they work on. */
function showQuestions(out: Output, epics: readonly EpicStatus[]): string[] {
  return epics.flatMap(({ epicId, questions }) =>
    questions.map(({ id, text }) => {
      const line = cutColumns(`${epicId} asks: ${flatten(text)}`, out.columns - 2);
      const hint = `  Answer: orch record question ${id} --answer "…" -e ${epicId}`;
      return `${out.paint('yellow', '?')} ${line}\n${out.paint('dim', hint)}`;
    }),
  );
}

/** Shows automatic checkpoints whose code could not be saved. */
function showWithoutCode(out: Output, epics: readonly EpicOverview[]): string[] {
  return epics.flatMap(({ status: { epicId }, withoutCode }) => {
    if (withoutCode === null) return [];
    const { seq, reason } = withoutCode;
    const text = `${epicId}: checkpoint ${seq} was saved without the code: ${flatten(reason)}`;
    return [`${out.paint('yellow', '!')} ${text}\n  Save it: orch checkpoint create -e ${epicId}`];
  });
}

/** Shows which checkpoints other machines cannot see yet. */
function showUnpushed(out: Output, epics: readonly EpicOverview['status'][]): string[] {
  const total = epics.reduce((sum, { unpushed = 0 }) => sum + unpushed, 0);
  if (total === 0) return [];
  const amount = total >= mostUnpushed ? `${mostUnpushed} or more checkpoints` : count(total, 'checkpoint');
  const names = epics.filter(({ unpushed = 0 }) => unpushed > 0).map(({ epicId }) => epicId);
  const shown = [...names.slice(0, 5), ...(names.length > 5 ? ['…'] : [])].join(', ');
  return [out.paint('dim', `Unpushed: ${amount} (${shown}). Share: orch sync`)];
}

/** Shows failed hooks: what the agent did at that time may be missing. */
function showFaults(out: Output, faults: Overview['faults'], logFile: string, now: Millis): string {
  const lines = faults.map(({ at, agent, event, message, count: times }) => {
    const often = times === 1 ? '' : `, ${times} times`;
    return `${out.paint('yellow', '!')} ${agent} hook failed (${event.replaceAll('_', ' ')}, ${formatWhen(at, now)}${often}): ${message}`;
  });
  return [...lines, out.paint('dim', `  Log: ${logFile}`)].join('\n');
}
