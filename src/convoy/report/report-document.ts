import type { Micros } from '../../types.ts';
import { count, formatInstant, formatUsd, toMicros } from '../../units.ts';
import { mergedName } from '../names.ts';
import { taskStates } from '../work/task-transition.ts';
import type { ConvoyReport, ReportedAttempt, ReportedTask } from './make-report.ts';

/* A report in words and tables, before it is Markdown or HTML. Texts are as they were recorded: who writes them escapes. */

/** Code is set apart: a command, a path, a commit. */
export type Cell = string | { readonly code: string };

export type Block =
  | { readonly kind: 'text'; readonly parts: readonly Cell[] }
  | { readonly kind: 'list'; readonly items: readonly (readonly Cell[])[] }
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      readonly rows: readonly (readonly Cell[])[];
      /** The columns with numbers. */
      readonly numbers: readonly number[];
    };

export type ReportDocument = {
  readonly title: string;
  readonly sections: readonly { readonly title: string | null; readonly blocks: readonly Block[] }[];
};

/** Puts a report into words. What there is nothing to say about is left out. */
export function describeReport(report: ConvoyReport): ReportDocument {
  const { convoy } = report;
  const sections = [
    { title: null, blocks: describeOutcome(report) },
    { title: 'What is left for you', blocks: describeLeft(report) },
    { title: 'What failed, and why', blocks: describeFailures(report) },
    { title: 'Money', blocks: describeMoney(report) },
    { title: 'Time', blocks: describeTime(report) },
    { title: 'Questions', blocks: describeQuestions(report) },
    { title: 'Collisions', blocks: describeCollisions(report) },
    { title: 'What the witness did', blocks: describeWitness(report) },
    { title: 'Merges', blocks: describeMerges(report) },
    { title: 'What is not in this report', blocks: listOf(report.notRecorded.map((each) => [each])) },
  ];
  return {
    title: `${convoy.name}: ${convoy.status}`,
    sections: sections.filter(({ blocks }) => blocks.length > 0),
  };
}

function describeOutcome({ convoy, counts, tasks, money }: ConvoyReport): Block[] {
  const states = taskStates.flatMap((state) => {
    const amount = counts[state] ?? 0;
    return amount === 0 ? [] : [`${amount} ${state.replace('_', ' ')}`];
  });
  const { limitUsd } = money.budget;
  const limit = limitUsd === null ? 'no budget' : `of ${usd(limitUsd)}`;
  const end = convoy.endedAt === null ? 'not ended' : `ended ${convoy.endedAt}`;
  const base: Cell[] = convoy.base === null ? [] : ['; from ', { code: convoy.base.slice(0, 10) }];
  const first = firstAttempts(tasks);
  return listOf([
    [`${count(tasks.length, 'task')}: ${states.join(', ')}`],
    ...(first.of === 0 ? [] : [[`${first.accepted} of ${first.of} were accepted at the first attempt`]]),
    [`${usd(money.spentUsd)} ${limit}; ${usd(money.rejectedUsd)} of it in attempts that were not accepted`],
    [`started ${convoy.startedAt}, ${end}, ${describeSeconds(convoy.seconds)} in all`],
    ['run ', { code: convoy.id }, ' on epic ', { code: convoy.epicId }, ...base],
  ]);
}

/** Of the tasks that agents have ended, how many needed one attempt. */
export function firstAttempts(tasks: readonly ReportedTask[]): { accepted: number; of: number } {
  const ended = tasks.filter(
    ({ status, agent }) => agent !== null && (status === 'done' || status === 'failed'),
  );
  const accepted = ended.filter(({ status, attempts }) => status === 'done' && attempts === 1);
  return { accepted: accepted.length, of: ended.length };
}

function describeLeft({ left }: ConvoyReport): Block[] {
  return listOf(
    left.map(({ task, what, command }): Cell[] => [
      ...(task === null ? [] : [{ code: task }, ': ']),
      what,
      ...(command === null ? [] : [': ', { code: command }]),
    ]),
  );
}

function describeFailures({ tasks }: ConvoyReport): Block[] {
  const rows = tasks.flatMap(({ id, made }) =>
    made.flatMap((attempt): Cell[][] =>
      attempt.refused === null
        ? []
        : [
            [
              { code: id },
              nameAttempt(attempt),
              attempt.model ?? '',
              usd(attempt.costUsd),
              describeRefusal(attempt),
            ],
          ],
    ),
  );
  return tableOf(['task', 'attempt', 'model', 'cost', 'why it was not accepted'], rows, [1, 3]);
}

/** What a person reads of a refusal: gates and files where orch knows them, else what the worker was told. */
export function describeRefusal({ refused, red, conflicts }: Omit<ReportedAttempt, 'costUsd'>): string {
  const gates = red.map(({ gate, failing }) => {
    return failing.length === 0 ? `gate ${gate}` : `gate ${gate}: ${failing.join(', ')}`;
  });
  if (gates.length > 0) return gates.join('; ');
  return conflicts.length > 0 ? `conflict in ${conflicts.join(', ')}` : (refused ?? '');
}

function describeMoney({ money, tasks }: ConvoyReport): Block[] {
  const paid = tasks.filter(({ costUsd }) => costUsd > 0);
  if (paid.length === 0 && money.otherUsd === 0) return [];
  const byCost = [...paid].sort((a, b) => b.costUsd - a.costUsd || (a.id < b.id ? -1 : 1));
  const rows = byCost.map(({ id, attempts, costUsd, rejectedUsd, made }): Cell[] => {
    return [
      { code: id },
      String(attempts),
      usd(costUsd),
      usd(rejectedUsd),
      made.map(priceAttempt).join(', '),
    ];
  });
  const other: Cell[][] = money.otherUsd === 0 ? [] : [['no task', '', usd(money.otherUsd), '', '']];
  const models = money.byModel.map(({ model, agent, attempts, refused, costUsd }): Cell[] => {
    const name = model ?? (agent === null ? 'not recorded' : `${agent}, its own choice`);
    return [name, String(attempts), String(refused), usd(costUsd)];
  });
  return [
    ...tableOf(['task', 'attempts', 'cost', 'not accepted', 'by attempt'], [...rows, ...other], [1, 2, 3]),
    ...tableOf(['model', 'attempts', 'not accepted', 'cost'], models, [1, 2, 3]),
  ];
}

function nameAttempt({ attempt }: Pick<ReportedAttempt, 'attempt'>): string {
  return attempt === null ? 'before' : String(attempt);
}

/** `2 (opus): $1.20` */
function priceAttempt(made: ReportedAttempt): string {
  return `${nameAttempt(made)}${made.model === null ? '' : ` (${made.model})`}: ${usd(made.costUsd)}`;
}

function describeTime({ tasks }: ConvoyReport): Block[] {
  const rows = tasks.flatMap(({ id, time }): Cell[][] => {
    if (time === null) return [];
    const { whole, working, forPeople, forMoney, paused, between } = time;
    const waited = [forPeople, forMoney, paused].map((each) => (each === 0 ? '' : describeSeconds(each)));
    const [all, atWork, rest] = [whole, working, between].map(describeSeconds);
    return [[{ code: id }, all ?? '', atWork ?? '', ...waited, rest ?? '']];
  });
  const head = [
    'task',
    'in all',
    'working',
    'waiting for an answer',
    'for money',
    'paused',
    'merging and the rest',
  ];
  return tableOf(head, rows, [1, 2, 3, 4, 5, 6]);
}

function describeQuestions({ questions }: ConvoyReport): Block[] {
  const rows = questions.map(({ task, text, answer }): Cell[] => [
    { code: task },
    text,
    answer ?? 'not answered',
  ]);
  return tableOf(['task', 'question', 'answer'], rows, []);
}

function describeCollisions({ collisions }: ConvoyReport): Block[] {
  return listOf(
    collisions.map(({ tasks, files }) => {
      const names = tasks.map((task) => (task === mergedName ? 'what was merged' : task));
      return [`${names.join(' and ')}, in ${files.join(', ')}`];
    }),
  );
}

function describeWitness({ witness }: ConvoyReport): Block[] {
  return tableOf(
    ['task', 'when', 'what'],
    witness.map(({ task, at, text }) => [{ code: task }, formatInstant(Date.parse(at)), text]),
    [],
  );
}

function describeMerges({ tasks }: ConvoyReport): Block[] {
  const merged = tasks
    .filter(({ commit }) => commit !== null)
    .sort((a, b) => ((a.endedAt ?? '') < (b.endedAt ?? '') ? -1 : 1));
  const rows = merged.map(({ id, name, commit, endedAt }): Cell[] => {
    return [{ code: (commit ?? '').slice(0, 10) }, { code: id }, name === id ? '' : name, endedAt ?? ''];
  });
  return tableOf(['commit', 'task', '', 'when'], rows, []);
}

function listOf(items: readonly (readonly Cell[])[]): Block[] {
  return items.length === 0 ? [] : [{ kind: 'list', items }];
}

/** What a program reads has all of it. */
const mostRows = 200;

/** A column in which nothing stands is left out. */
function tableOf(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  numbers: readonly number[],
): Block[] {
  if (rows.length === 0) return [];
  const shown = head.map((_, column) => column).filter((column) => rows.some((row) => row[column] !== ''));
  return [
    {
      kind: 'table',
      head: shown.map((column) => head[column] ?? ''),
      rows: rows.slice(0, mostRows).map((row) => shown.map((column) => row[column] ?? '')),
      numbers: numbers.map((column) => shown.indexOf(column)).filter((column) => column >= 0),
    },
    ...(rows.length > mostRows
      ? [
          {
            kind: 'text' as const,
            parts: [`… and ${rows.length - mostRows} more; all are in `, { code: '--json' }],
          },
        ]
      : []),
  ];
}

function usd(amount: number): string {
  const micros: Micros = toMicros(amount);
  return formatUsd(micros);
}

/** `4s`, `3m 20s`, `2h 5m` */
export function describeSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours > 0) return minutes > 0 ? `${hours}h ${minutes}m` : `${hours}h`;
  if (minutes > 0) return whole % 60 > 0 ? `${minutes}m ${whole % 60}s` : `${minutes}m`;
  return `${whole}s`;
}
