import { describeCommit, walkReadable } from '../checkpoint/list.ts';
import { readCommitAndDocument } from '../checkpoint/read.ts';
import { describeEstimate } from '../cost/budget.ts';
import { burnPerHour, lastsUntil } from '../cost/forecast.ts';
import { type Ledger, listReadings } from '../cost/ledger.ts';
import { estimateOf, moneyOf, spentBy, spentIn, sumByModel } from '../cost/money.ts';
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
    /** The part of it that is the agent's own figure or a guess; left out where there is none. */
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
  const spent = spentIn(state.ledger);
  const points: { at: Millis; micros: Micros }[] = [];
  for await (const point of walkPoints(ports, view, recentPoints)) points.push(point);
  // What is pending was spent by now; but while nobody works, no time passes in which money could be spent.
  const isWorkedOn = Object.values(state.sessions).some(({ value }) => !hasEnded(value.status));
  if (isWorkedOn || spent > (points[0]?.micros ?? 0)) points.unshift({ at: now, micros: spent });
  const perHour = burnPerHour(points, now);
  const readings = listReadings(state.ledger);
  const bySession = [...new Set(readings.map(({ session }) => session))].map((sessionId) => {
    const number = lookUp(state.sessions, sessionId)?.value.number ?? null;
    return { sessionId, number, costUsd: toUsd(spentBy(state.ledger, sessionId)) };
  });
  const byModel = [...sumByModel(readings)].map(([model, usage]) => {
    return { model, costUsd: toUsd(moneyOf(model, usage)), ...describeEstimate(estimateOf(usage)) };
  });
  return {
    bySession: bySession.sort((a, b) => (b.number ?? 0) - (a.number ?? 0)),
    byModel: byModel.sort((a, b) => b.costUsd - a.costUsd),
    burnPerHourUsd: perHour === null ? null : toUsd(perHour),
    lastsUntil: lastsUntil(spent, budgetOf(state), perHour, now),
  };
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
  const spent = spentIn(view.state.ledger);
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
