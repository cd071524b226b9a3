import type { Checkpoint } from '../../checkpoint/list.ts';
import { findRaisedBudget, type RaisedBudget } from '../../checkpoint/local-budget.ts';
import { readCommitAndDocument } from '../../checkpoint/read-base.ts';
import { type Budget, describeEstimate } from '../../cost/budget.ts';
import { burnPerHour, lastsUntil } from '../../cost/forecast.ts';
import { type Ledger, listReadings } from '../../cost/ledger.ts';
import { estimateOf, guessOf, moneyOf, spentBy, spentIn, sumByModel } from '../../cost/money.ts';
import { makeReport, type Point, parseSince, type CostReport as Report } from '../../cost/report.ts';
import { parseEpicId, parseOid } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { isRaise, makeBudgetFact } from '../../record/budget-rules.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { askToRaise } from '../../record/raise.ts';
import { type EpicView, readView } from '../../record/view.ts';
import { type Destination, findDestination } from '../../record/which/which-session.ts';
import { budgetOf } from '../../state/current.ts';
import { foldAll } from '../../state/fold.ts';
import { hasEnded } from '../../state/transition.ts';
import type { Micros, Millis } from '../../types.ts';
import { toMicros, toUsd } from '../../units.ts';
import { using, type Where } from '../../where.ts';
import { recordTo } from '../calls.ts';
import { describeMoney, describeUnpriced, type Unpriced } from '../epic-status.ts';
import { readExistingEpic } from '../find-session.ts';
import { describeRecorded, type RecordedEntry } from '../recorded-entry.ts';
import { walkCheckpoints } from './epic-log.ts';

/** Reads an epic's cost at each checkpoint, newest first. */
async function* walkPoints(ports: SessionPorts, view: EpicView, most?: number): AsyncGenerator<Point> {
  for await (const { commit, checkpoint } of walkCheckpoints(ports, view, most)) {
    const { oid, parents, authoredAt: at } = commit;
    const { sessionId, sessionNumber, costUsd } = checkpoint;
    yield { commit: oid, parents, at, sessionId, sessionNumber, micros: toMicros(costUsd) };
  }
}

/** What an epic has cost, how fast it spends, and how long the budget will last. */
export type CostStatus = {
  readonly budget: Budget;
  readonly bySession: readonly {
    readonly sessionId: string;
    readonly number: number | null;
    readonly costUsd: number;
  }[];
  readonly byModel: readonly {
    readonly model: string;
    readonly costUsd: number;
    /** The part that is the agent's own figure or an estimate; absent if there is none. */
    readonly estimatedUsd?: number;
  }[];
  readonly burnPerHourUsd: number | null;
  /** ISO 8601, UTC; null if that cannot be estimated, or the budget is used up. */
  readonly lastsUntil: string | null;
  /** Models without a price, and what is counted for each. */
  readonly unpriced: readonly Unpriced[];
  /** A higher budget that another clone set and that was not accepted here yet. */
  readonly raised: RaisedBudget | null;
};

/** Enough checkpoints to see how fast money is spent. */
const recentPoints = 200;

/** Reads what an epic has cost, how fast it spends, and how long the budget will last. */
export async function readCost(epicId: string, where: Where = {}): Promise<CostStatus> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const view = await readExistingEpic(orch, epic);
    const { state } = view;
    const readings = listReadings(state.ledger);
    const bySession = [...new Set(readings.map(({ session }) => session))].map((sessionId) => {
      const number = lookUp(state.sessions, sessionId)?.value.number ?? null;
      return { sessionId, number, costUsd: toUsd(spentBy(state.ledger, sessionId)) };
    });
    const byModel = [...sumByModel(readings)].map(([model, usage]) => {
      return { model, costUsd: toUsd(moneyOf(model, usage)), ...describeEstimate(estimateOf(usage)) };
    });
    // An invalid config is reported by the commands that need it.
    const prices = await orch.readConfig().then(
      (config) => config.prices,
      () => ({}),
    );
    return {
      budget: describeMoney(state),
      bySession: bySession.sort((a, b) => (b.number ?? 0) - (a.number ?? 0)),
      byModel: byModel.sort((a, b) => b.costUsd - a.costUsd),
      ...(await forecast(orch, view)),
      unpriced: describeUnpriced(state, prices),
      raised: findRaisedBudget(orch.home, epic, foldAll(view.tip.state, view.pending)),
    };
  });
}

async function forecast(
  ports: SessionPorts,
  view: EpicView,
): Promise<Pick<CostStatus, 'burnPerHourUsd' | 'lastsUntil'>> {
  const { state } = view;
  const now = ports.clock.now();
  const spent = spentIn(state.ledger);
  const points: { at: Millis; micros: Micros }[] = [];
  for await (const point of walkPoints(ports, view, recentPoints)) points.push(point);
  // Pending costs count until now. While no session runs nothing can be spent, so that time does not count.
  const isWorkedOn = Object.values(state.sessions).some(({ value }) => !hasEnded(value.status));
  if (isWorkedOn || spent > (points[0]?.micros ?? 0)) points.unshift({ at: now, micros: spent });
  const perHour = burnPerHour(points, now);
  return {
    burnPerHourUsd: perHour === null ? null : toUsd(perHour),
    lastsUntil: lastsUntil(spent, budgetOf(state), perHour, now),
  };
}

/** Where the money went, in dollars. */
export type CostReport = ReturnType<typeof describeReport> & {
  readonly epicId: string;
  readonly budget: Budget;
  readonly burnPerHourUsd: number | null;
};

/** Reports where an epic's money went, in its whole history or since a time: `fri`, `2h`, `2026-11-16`. */
export async function readCostReport(
  epicId: string,
  options: { readonly since?: string } = {},
  where: Where = {},
): Promise<CostReport> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const since = options.since === undefined ? null : parseSince(options.since, orch.clock.now());
    const view = await readExistingEpic(orch, epic);
    const { burnPerHourUsd } = await forecast(orch, view);
    const report = describeReport(await collectReport(orch, view, since));
    return { epicId: epic, ...report, budget: describeMoney(view.state), burnPerHourUsd };
  });
}

/** The calendar day in the user's time zone. */
function dayOf(at: Millis): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** A report as scripts read it. */
function describeReport(found: Report) {
  return {
    totalUsd: toUsd(found.total),
    byDay: found.byDay.map(({ day, micros }) => ({ day, costUsd: toUsd(micros) })),
    bySession: found.bySession.map(({ sessionId, sessionNumber, micros }) => {
      return { sessionId, number: sessionNumber, costUsd: toUsd(micros) };
    }),
    byModel: found.byModel.map(({ model, micros, usage }) => {
      const { micros: _, estimated: __, guessed: ___, settled: ____, corrected, ...tokens } = usage;
      return {
        model,
        costUsd: toUsd(micros),
        ...describeEstimate(estimateOf(usage)),
        ...(guessOf(usage) > 0 && { guessedUsd: toUsd(guessOf(usage)) }),
        ...(corrected && { correctedUsd: toUsd(corrected) }),
        ...tokens,
      };
    }),
  };
}

async function collectReport(ports: SessionPorts, view: EpicView, since: Millis | null): Promise<Report> {
  const points: Point[] = [];
  for await (const point of walkPoints(ports, view)) points.push(point);
  const spent = spentIn(view.state.ledger);
  const [newest] = points;
  // Costs that are in no checkpoint yet get a point of their own.
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

/** Sets an epic's budget: `20` is dollars in all, `+20` is more than is spent now, `none` removes it. */
export async function setBudget(
  epicId: string,
  amount: number | string,
  where: Where = {},
): Promise<{ readonly budget: Budget; readonly checkpoint: Checkpoint | null }> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    await readExistingEpic(orch, epic);
    const place = findDestination(orch, epic, await orch.readSettings(), null);
    const { budget, checkpoint } = await setBudgetIn(orch, place, String(amount), false);
    return { budget, checkpoint };
  });
}

/** Sets an epic's budget in its running session; an agent cannot raise it. */
export async function setBudgetIn(
  orch: Orch,
  place: Destination,
  amount: string,
  byAgent: boolean,
): Promise<RecordedEntry> {
  const { epic } = place;
  const { state } = await readView(orch, epic);
  const fact = makeBudgetFact(epic, state, amount, { byAgent, home: orch.home });
  if (isRaise(budgetOf(state), fact.limit)) await askToRaise(orch, epic, fact.limit, amount);
  const outcome = await recordTo(orch, place, [fact]);
  return describeRecorded(epic, outcome);
}
