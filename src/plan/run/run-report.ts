import { codeText, plainText } from '../../checkpoint/brief/brief-text.ts';
import { lookUp } from '../../keyed.ts';
import type { EffectRecord, TaskRecord } from '../../state/runs.ts';
import type { EpicId, Millis } from '../../types.ts';
import { count, formatInstant } from '../../units.ts';
import type { Plan } from '../plan.ts';
import type { KnownRun } from './known-runs.ts';

export type ReportInput = {
  readonly epic: EpicId;
  readonly run: Pick<KnownRun, 'id' | 'head' | 'tasks' | 'effects'>;
  /** As it is now, for the order of its tasks; other recorded tasks come last. */
  readonly plan: Pick<Plan, 'tasks' | 'digest'>;
};

/** Formats a run's record in Markdown, to be passed on: no output, and nothing that a task could forge. */
export function formatRunReport({ epic, run, plan }: ReportInput): string {
  const { id, head } = run;
  const facts = [
    `Run ${codeText(id, 64)} on ${codeText(epic, 64)}`,
    `started ${formatInstant(head.startedAt)}`,
    ...(head.endedAt === null ? ['not ended'] : [`ended ${formatInstant(head.endedAt)}`]),
    ...(head.from === null ? [] : [`continues ${codeText(head.from, 64)}`]),
  ];
  const isSamePlan = head.digest === plan.digest;
  const sections = [
    [`# ${plainText(head.plan, 120)}: ${head.status.replaceAll('_', ' ')}`],
    [`${facts.join('; ')}.`],
    [`Plan digest ${codeText(head.digest, 64)}${isSamePlan ? '' : '; the plan has changed since'}.`],
    formatTasks(run, plan),
    formatEffects(run),
  ];
  const text = sections.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`);
  return text.join('\n');
}

function formatTasks({ tasks }: ReportInput['run'], plan: ReportInput['plan']): string[] {
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
  if (task === undefined) return ['not started', '0', '', ''];
  const { status, attempts, at, artifacts } = task;
  const made = artifacts.map(({ path, bytes, sha256 }) => {
    return `${codeText(path, 120)} (${count(bytes, 'byte')}, ${sha256.slice(0, 12)})`;
  });
  return [status, String(attempts), formatAt(at), made.join(', ')];
}

function formatEffects({ effects }: ReportInput['run']): string[] {
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

/** A task that counts as done because the user says so has no time. */
function formatAt(at: Millis): string {
  return at > 0 ? formatInstant(at) : '';
}

function formatHead(titles: readonly string[]): string[] {
  return [formatRow(titles), `|${titles.map(() => '---|').join('')}`];
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
