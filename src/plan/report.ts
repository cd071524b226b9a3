import { codeText, plainText } from '../checkpoint/brief/text.ts';
import { lookUp } from '../keyed.ts';
import type { EffectRecord, TaskRecord } from '../state/run.ts';
import type { EpicId, Millis } from '../types.ts';
import { count, formatInstant } from '../units.ts';
import type { KnownRun } from './runs.ts';
import type { Plan } from './types.ts';

export type ReportInput = {
  readonly epic: EpicId;
  readonly run: Pick<KnownRun, 'id' | 'head' | 'tasks' | 'effects'>;
  /** As it is now, for the order of its tasks; what the run knows besides comes behind them. */
  readonly plan: Pick<Plan, 'tasks' | 'digest'>;
};

/** All that is known of a run, in Markdown, to be handed on: no output, and nothing a task could forge. */
export function formatRunReport({ epic, run, plan }: ReportInput): string {
  const { id, head } = run;
  const facts = [
    `Run ${codeText(id, 64)} on ${codeText(epic, 64)}`,
    `began ${formatInstant(head.startedAt)}`,
    ...(head.endedAt === null ? ['not ended'] : [`ended ${formatInstant(head.endedAt)}`]),
    ...(head.from === null ? [] : [`goes on from ${codeText(head.from, 64)}`]),
  ];
  const isSamePlan = head.digest === plan.digest;
  const sections = [
    [`# ${plainText(head.plan, 120)}: ${sayStatus(head.status)}`],
    [`${facts.join('; ')}.`],
    [
      `Plan digest ${codeText(head.digest, 64)}${isSamePlan ? '' : ', which is not that of the plan as it is now'}.`,
    ],
    listTasks(run, plan),
    listEffects(run),
  ];
  const text = sections.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`);
  return text.join('\n');
}

function sayStatus(status: string): string {
  return status.replaceAll('_', ' ');
}

function listTasks({ tasks }: ReportInput['run'], plan: ReportInput['plan']): string[] {
  const ids = plan.tasks.map(({ id }) => id);
  const gone = Object.keys(tasks).filter((id) => !ids.includes(id));
  const done = Object.values(tasks).filter(({ status }) => status === 'succeeded').length;
  const rows = [...ids, ...gone].map((id, index) => {
    const place = index < ids.length ? String(index + 1) : '–';
    return formatRow([place, plainText(id, 80), ...describeTask(lookUp(tasks, id))]);
  });
  return [
    `## Tasks: ${done} of ${ids.length + gone.length} succeeded`,
    '',
    ...formatHead(['', 'task', 'status', 'attempts', 'recorded', 'artifacts']),
    ...rows,
  ];
}

function describeTask(task: TaskRecord | undefined): string[] {
  if (task === undefined) return ['not begun', '0', '', ''];
  const { status, attempts, at, artifacts } = task;
  const made = artifacts.map(({ path, bytes, sha256 }) => {
    return `${codeText(path, 120)} (${count(bytes, 'byte')}, ${sha256.slice(0, 12)})`;
  });
  return [status, String(attempts), formatAt(at), made.join(', ')];
}

function listEffects({ effects }: ReportInput['run']): string[] {
  const all = Object.entries(effects);
  if (all.length === 0) return [];
  const done = all.filter(([, { status }]) => status === 'acknowledged').length;
  return [
    `## Effects: ${done} of ${all.length} acknowledged`,
    '',
    ...formatHead(['effect', 'task', 'status', 'key', 'recorded', 'what', 'why']),
    ...all.map(([id, effect]) => formatRow([plainText(id, 80), ...describeEffect(effect)])),
  ];
}

function describeEffect({ task, status, key, at, what, reason }: EffectRecord): string[] {
  return [
    plainText(task, 80),
    status,
    codeText(key, 64),
    formatAt(at),
    plainText(what, 300),
    reason === null ? '' : plainText(reason, 300),
  ];
}

/** A task that counts by the user's word was never recorded at a time. */
function formatAt(at: Millis): string {
  return at > 0 ? formatInstant(at) : '';
}

function formatHead(titles: readonly string[]): string[] {
  return [formatRow(titles), `|${titles.map(() => '---|').join('')}`];
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
