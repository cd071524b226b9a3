import {
  type ConvoyInfo,
  type EpicOverview,
  type EpicStatus,
  type KnownConvoy,
  listWaiting,
  mostUnpushed,
  type Orch,
  type Overview,
  readConvoy,
  readOverview,
  reportLogPath,
  type SessionState,
  showConvoy,
  type TaskState,
  type WaitingItem,
} from '../../../index.ts';
import { columnsOf, cutColumns } from '../../../text.ts';
import type { Millis } from '../../../types.ts';
import { count, formatAge } from '../../../units.ts';
import { printUnreadable } from '../../choose.ts';
import { type Column, flatten, type Output, printJson, showTable } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { paintGates } from '../../views/checkpoint-view.ts';
import { formatSummary } from '../../views/convoy-view.ts';
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
    const known = await summarizeConvoys(orch, overview);
    const convoys = known.map(({ info }) => info);
    const waiting = listWaiting(
      overview,
      known.map(({ convoy, info: { tasks } }) => ({ convoy, tasks })),
    );
    if (json) {
      const statuses = epics.map(({ status }) => {
        const convoy = convoys.find(({ epicId }) => epicId === status.epicId);
        return convoy === undefined ? status : { ...status, convoy };
      });
      return printJson(out, {
        epics: statuses,
        waiting,
        faults,
        ...(unreadable.length > 0 && { unreadable }),
      });
    }
    if (epics.length + unreadable.length > 0) out.print(show(out, overview, convoys, waiting, now));
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
async function summarizeConvoys(
  orch: Orch,
  { epics }: Overview,
): Promise<{ readonly convoy: KnownConvoy; readonly info: ConvoyInfo }[]> {
  const found: { convoy: KnownConvoy; info: ConvoyInfo }[] = [];
  for (const { status, isConvoy } of epics) {
    const known = isConvoy ? await readConvoy(orch, status.epicId) : null;
    if (known !== null) found.push({ convoy: known, info: await describeConvoy(orch, known) });
  }
  return found;
}

async function describeConvoy(orch: Orch, known: KnownConvoy): Promise<ConvoyInfo> {
  const convoy = await showConvoy(orch, known);
  const tasks = convoy.tasks.filter(({ status }) => needPeople.includes(status));
  return { ...convoy, tasks, unlisted: 0 };
}

const needPeople: readonly TaskState[] = ['needs_input', 'held', 'failed'];

function show(
  out: Output,
  overview: Overview,
  convoys: readonly ConvoyInfo[],
  waiting: readonly WaitingItem[],
  now: Millis,
): string {
  const { epics, hidden } = overview;
  const statuses = epics.map(({ status }) => status);
  return [
    showEpics(out, overview, now),
    ...suggest(out, epics, convoys),
    ...showWaiting(out, waiting, now),
    ...convoys.flatMap((convoy) => showConvoyLine(out, convoy)),
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

/** How much is listed among all epics. */
const mostWaiting = 10;

/** Shows what waits for a person, oldest first, with what depends on it and what to type. */
function showWaiting(out: Output, waiting: readonly WaitingItem[], now: Millis): string[] {
  const lines = waiting.slice(0, mostWaiting).flatMap((item) => {
    const { epicId, task, session, kind, text, since, unblocks, command } = item;
    const own = session === null ? epicId : `${epicId} s${session}`;
    const name = task === null ? own : `${epicId}/${task}`;
    const when = since === null ? '' : `, ${formatWaited(now - Date.parse(since))}`;
    const blocked =
      unblocks.length === 0
        ? ''
        : `  (${nameFew(unblocks)} ${unblocks.length === 1 ? 'waits' : 'wait'} for it)`;
    const line = cutColumns(`${name} ${needWords[kind]}${when}: ${flatten(text)}${blocked}`, out.columns - 2);
    return [
      `${out.paint(kind === 'failed' ? 'red' : 'yellow', '?')} ${line}`,
      out.paint('dim', `    ${command}`),
    ];
  });
  const more = waiting.length - mostWaiting;
  return [...lines, ...(more > 0 ? [out.paint('dim', `  and ${more} more: orch status --json`)] : [])];
}

function formatWaited(age: Millis): string {
  const text = formatAge(Math.max(0, age));
  return text === 'now' ? 'just now' : `for ${text}`;
}

function nameFew(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

const needWords: { readonly [K in WaitingItem['kind']]: string } = {
  question: 'asks',
  permission: 'needs permission',
  plan: 'shows its plan',
  held: 'is held',
  failed: 'has failed',
};

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

/** A convoy at work, or with tasks that wait for a person: a line. */
function showConvoyLine(out: Output, convoy: ConvoyInfo): string[] {
  const isQuiet = convoy.tasks.length === 0 && convoy.status !== 'running';
  return isQuiet ? [] : [formatSummary(out, convoy)];
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
