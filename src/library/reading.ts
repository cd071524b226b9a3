import type { Brief } from '../checkpoint/brief/fit.ts';
import type { Checkpoint } from '../checkpoint/list.ts';
import { type Budget, describeEstimate } from '../cost/budget.ts';
import { estimateOf } from '../cost/money.ts';
import type { CostReport as Report } from '../cost/report.ts';
import { parseSince } from '../cost/since.ts';
import { parseEpicId } from '../ids.ts';
import { setBudget as budgetFact, isRaise } from '../session/budget.ts';
import { handOver } from '../session/handover.ts';
import { placeFor, recordIn } from '../session/here.ts';
import { askToRaise } from '../session/raise.ts';
import { type CostStatus, readCostStatus, readCostReport as readReport } from '../session/spending.ts';
import { describeMoney } from '../session/status.ts';
import { budgetOf } from '../state/current.ts';
import type { Millis, SessionId } from '../types.ts';
import { toUsd } from '../units.ts';
import { readExisting } from './sessions.ts';
import { using, type Where } from './where.ts';

export type BriefOptions = {
  /** What matters least is left out. */
  readonly maxTokens?: number;
  /** As it was at this checkpoint, by its name. */
  readonly checkpoint?: string;
};

/** The brief of an epic as it stands, and the session it is about. */
export type EpicBrief = Brief & { readonly from: { readonly id: SessionId; readonly number: number } | null };

/** What the next agent or person should know. */
export async function readBrief(
  epicId: string,
  options: BriefOptions = {},
  where: Where = {},
): Promise<EpicBrief> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const view = await readExisting(orch, epic);
    const { brief, from } = await handOver(orch, view, options.checkpoint ?? null, options.maxTokens);
    return { ...brief, from };
  });
}

/** What an epic has cost, how fast money goes, and how long the budget lasts. */
export async function readCost(
  epicId: string,
  where: Where = {},
): Promise<CostStatus & { readonly budget: Budget }> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const view = await readExisting(orch, epic);
    return { budget: describeMoney(view.state), ...(await readCostStatus(orch, view)) };
  });
}

/** Where the money went, in dollars. */
export type CostReport = ReturnType<typeof describeReport> & {
  readonly epicId: string;
  readonly budget: Budget;
};

/** Where an epic's money went, from its whole history, or since a time: `fri`, `2h`, `2026-11-16`. */
export async function readCostReport(
  epicId: string,
  options: { readonly since?: string } = {},
  where: Where = {},
): Promise<CostReport> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const view = await readExisting(orch, epic);
    const since = options.since === undefined ? null : parseSince(options.since, orch.clock.now());
    const report = await readReport(orch, view, since, dayOf);
    return { epicId: epic, ...describeReport(report), budget: describeMoney(view.state) };
  });
}

/** The calendar day where the user is. */
export function dayOf(at: Millis): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** A report as scripts read it. */
export function describeReport(found: Report) {
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
        ...(corrected && { correctedUsd: toUsd(corrected) }),
        ...tokens,
      };
    }),
  };
}

/** Sets an epic's budget: `20` dollars in all, `+20` more than is spent now, `none` lifts it. */
export async function setBudget(
  epicId: string,
  amount: number | string,
  where: Where = {},
): Promise<{ readonly budget: Budget; readonly checkpoint: Checkpoint | null }> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const { state } = await readExisting(orch, epic);
    const typed = String(amount);
    const fact = budgetFact(epic, state, typed, { byAgent: false, home: orch.home });
    if (isRaise(budgetOf(state), fact.limit)) await askToRaise(orch, epic, fact.limit, typed);
    const outcome = await recordIn(orch, placeFor(orch, epic, await orch.readSettings(), null), [fact]);
    return { budget: describeMoney(outcome.state), checkpoint: outcome.stored?.checkpoint ?? null };
  });
}
