import { type ConvoyMetrics, describeSeconds, type PooledMetrics, type Trend } from '../../index.ts';
import { formatTable, type Output, right } from '../output.ts';
import { formatDollars } from './money-view.ts';
import { formatWhen } from './time-view.ts';

/* Convoys in numbers: a line each, and two side by side. */

const none = '–';

type Numbers = Omit<PooledMetrics, 'convoys'>;

/** What two convoys, or two times, are compared by. */
const measures: readonly (readonly [name: string, show: (numbers: Numbers) => string])[] = [
  ['tasks done', ({ done, tasks }) => `${done} of ${tasks}`],
  ['failed', ({ failed }) => String(failed)],
  ['cost', ({ costUsd }) => formatDollars(costUsd)],
  ['per done task', ({ costPerDoneUsd }) => (costPerDoneUsd === null ? none : formatDollars(costPerDoneUsd))],
  ['at first attempt', ({ firstAttempts }) => showShare(firstAttempts)],
  [
    'median per task',
    ({ medianSeconds }) => (medianSeconds === null ? none : describeSeconds(medianSeconds)),
  ],
  ['interventions', ({ interventions }) => String(interventions)],
];

function showShare({ accepted, of }: Numbers['firstAttempts']): string {
  return of === 0 ? none : `${Math.round((100 * accepted) / of)}%`;
}

/** A line for each convoy, the newest first. */
export function formatMetrics(out: Output, convoys: readonly ConvoyMetrics[], now: number): string {
  const head = ['convoy', '', 'started', ...measures.map(([name]) => name)];
  const rows = convoys.map((each) => [
    ...[each.name, each.status, formatWhen(each.startedAt, now)],
    ...measures.map(([, show]) => show(each)),
  ]);
  const columns = [{}, {}, {}, ...measures.map(() => right)];
  return formatTable([head, ...rows], columns, Math.max(out.columns, 120), (line) => out.paint('dim', line));
}

/** The newest convoys against those before. */
export function formatTrend(out: Output, { now, before }: Trend): string {
  const [newest, earlier] = [`last ${now.convoys}`, `${before.convoys} before`];
  return formatSides(out, [earlier, before], [newest, now]);
}

export function formatComparison(out: Output, one: ConvoyMetrics, other: ConvoyMetrics): string {
  return formatSides(out, [one.name, one], [other.name, other]);
}

type Side = readonly [name: string, numbers: Numbers];

function formatSides(out: Output, [left, before]: Side, [rightName, now]: Side): string {
  const rows = measures.map(([name, show]) => [name, show(before), show(now)]);
  return formatTable([['', left, rightName], ...rows], [{}, {}, {}], 80, (line) => out.paint('dim', line));
}
