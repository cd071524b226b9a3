import { describeCommit, walkReadable } from '../checkpoint/list.ts';
import { readCommitAndDocument } from '../checkpoint/read.ts';
import { describeEstimate } from '../cost/budget.ts';
import { burnPerHour, lastsUntil } from '../cost/forecast.ts';
import { addUsage, type Ledger, listReadings, noUsage, totalUsage, type Usage } from '../cost/ledger.ts';
import { type CostReport, makeReport, type Point } from '../cost/report.ts';
import { parseOid } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { hasEnded } from '../state/transition.ts';
import type { Micros, Millis } from '../types.ts';
import { toMicros, toUsd } from '../units.ts';
import type { EpicView } from './context.ts';
import type { SessionPorts } from './record.ts';

/** What an epic's checkpoints say of its cost, newest first. */
async function* walkPoints(ports: SessionPorts, view: EpicView, most?: number): AsyncGenerator<Point> {
  if (view.tip.oid === null) return;
  const onDamage = (error: Error) => ports.report(`some could not be read: ${error.message}`);
  for await (const commit of walkReadable(ports, view.epic, onDamage, most)) {
    const said = describeCommit(commit);
    if (said === null) continue;
    yield {
      commit: commit.oid,
      parents: commit.parents,
      at: commit.authoredAt,
      sessionId: said.sessionId,
      sessionNumber: said.sessionNumber,
      micros: toMicros(said.costUsd),
    };
  }
}

export type CostStatus = {
  readonly bySession: readonly {
    readonly sessionId: string;
    readonly number: number | null;
    readonly costUsd: number;
  }[];
  readonly byModel: readonly {
    readonly model: string;
    readonly costUsd: number;
    /** The part of it that is the agent's own figure; left out where there is none. */
    readonly estimatedUsd?: number;
  }[];
  readonly burnPerHourUsd: number | null;
  /** ISO 8601, UTC; null where nothing tells, or it is used up. */
  readonly lastsUntil: string | null;
};

/** Enough checkpoints to tell how fast money goes. */
const recentPoints = 200;

/** What was spent, on what, and how long the rest will do. */
export async function readCostStatus(ports: SessionPorts, view: EpicView): Promise<CostStatus> {
  const { state } = view;
  const now = ports.clock.now();
  const spent = totalUsage(state.ledger).micros;
  const points: { at: Millis; micros: Micros }[] = [];
  for await (const point of walkPoints(ports, view, recentPoints)) points.push(point);
  // What is pending was spent by now; but while nobody works, no time passes in which money could be spent.
  const isWorkedOn = Object.values(state.sessions).some(({ value }) => !hasEnded(value.status));
  if (isWorkedOn || spent > (points[0]?.micros ?? 0)) points.unshift({ at: now, micros: spent });
  const perHour = burnPerHour(points, now);
  const bySession = sumMeters(state.ledger, ({ session }) => session).map(([sessionId, { micros }]) => {
    const number = lookUp(state.sessions, sessionId)?.value.number ?? null;
    return { sessionId, number, costUsd: toUsd(micros) };
  });
  const byModel = sumMeters(state.ledger, ({ model }) => model).map(([model, { micros, estimated }]) => {
    return { model, costUsd: toUsd(micros), ...describeEstimate(estimated) };
  });
  return {
    bySession: bySession.sort((a, b) => (b.number ?? 0) - (a.number ?? 0)),
    byModel: byModel.sort((a, b) => b.costUsd - a.costUsd),
    burnPerHourUsd: perHour === null ? null : toUsd(perHour),
    lastsUntil: lastsUntil(spent, budgetOf(state), perHour, now),
  };
}

function sumMeters(
  ledger: Ledger,
  keyOf: (meter: { readonly session: string; readonly model: string }) => string,
): [key: string, usage: Usage][] {
  const sums = new Map<string, Usage>();
  for (const { usage, ...meter } of listReadings(ledger))
    sums.set(keyOf(meter), addUsage(sums.get(keyOf(meter)) ?? noUsage, usage));
  return [...sums];
}

/** Where the money went, from all of the history. */
export async function readCostReport(
  ports: SessionPorts,
  view: EpicView,
  since: Millis | null,
  dayOf: (at: Millis) => string,
): Promise<CostReport> {
  const points: Point[] = [];
  for await (const point of walkPoints(ports, view)) points.push(point);
  const spent = totalUsage(view.state.ledger).micros;
  const [newest] = points;
  // What is in no checkpoint yet counts as spent now.
  const last = view.pending.findLast(({ fact }) => fact.kind === 'cost' || fact.kind === 'meter');
  if (last && spent > (newest?.micros ?? 0)) {
    const sessionId = last.session;
    const sessionNumber = lookUp(view.state.sessions, sessionId)?.value.number ?? newest?.sessionNumber ?? 0;
    const parents = newest ? [newest.commit] : [];
    points.unshift({ commit: 'pending', parents, at: last.at, sessionId, sessionNumber, micros: spent });
  }
  const before = since === null ? {} : await ledgerBefore(ports, view, points, since);
  return makeReport({ points, ledger: view.state.ledger, since, before, dayOf });
}

async function ledgerBefore(
  ports: SessionPorts,
  { epic }: EpicView,
  points: readonly Point[],
  since: Millis,
): Promise<Ledger> {
  const last = points.find(({ at, commit }) => at < since && commit !== 'pending');
  if (last === undefined) return {};
  return (await readCommitAndDocument(ports.git, epic, parseOid(last.commit))).document.state.ledger;
}
