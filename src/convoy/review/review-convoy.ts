import { isDeepStrictEqual } from 'node:util';
import type { CommandLine } from '../../config/defaults.ts';
import { chargeTask } from '../../cost/charge.ts';
import { noUsage } from '../../cost/ledger.ts';
import { spentIn } from '../../cost/money.ts';
import { OrchError } from '../../errors.ts';
import { readBranch } from '../../git/worktree/merge-commits.ts';
import { isTaskOf, parseOid } from '../../ids.ts';
import { listLive } from '../../journal/live.ts';
import type { Orch } from '../../orch.ts';
import { makeSessionId } from '../../record/begin.ts';
import { readView } from '../../record/view.ts';
import { findDestination } from '../../record/which/which-session.ts';
import { recordTo } from '../../session/calls.ts';
import { budgetOf, readCurrent } from '../../state/current.ts';
import type { Fact } from '../../state/facts.ts';
import type { EpicId, Micros, Oid } from '../../types.ts';
import { toUsd } from '../../units.ts';
import type { KnownConvoy } from '../find-convoy.ts';
import { mergedBranch, mergedName, taskEpic } from '../names.ts';
import { loadIfThere } from '../show-convoy.ts';
import { titleOf } from '../work/task-texts.ts';
import { deferredFacts, listOpenFindings } from './deferred.ts';
import { decideReview, type Finding, keyOf, type Review, type ReviewDecision } from './findings.ts';
import { runReviews } from './run-review.ts';

/** What came of the review of a whole convoy. */
export type ConvoyReview = {
  readonly from: Oid;
  readonly to: Oid;
  readonly reviews: readonly Review[];
  readonly decision: ReviewDecision['kind'];
  /** What was found, the gravest first. */
  readonly findings: readonly Finding[];
  /** What earlier reviews left open, and these reviewers do not name. */
  readonly open: ReturnType<typeof listOpenFindings>;
  /** Why it is not ready to land; null if it is. */
  readonly notReady: string | null;
  readonly costUsd: number;
};

export type ReviewOptions = {
  /** The reviewers; by default those of the plan. */
  readonly by?: readonly CommandLine[];
  readonly signal?: AbortSignal;
};

/** Has reviewers look at all that a convoy has merged, with what earlier reviews left open; null if it was stopped. */
export async function reviewConvoy(
  orch: Orch,
  convoy: KnownConvoy,
  { by: given, signal = new AbortController().signal }: ReviewOptions = {},
): Promise<ConvoyReview | null> {
  const { epic, path } = convoy;
  const plan = loadIfThere(path);
  const { by: planned = [], required = 1 } = plan?.convoy.review ?? {};
  const by = given ?? planned;
  if (by.length === 0)
    throw new OrchError('USAGE', `the plan of ${epic} names no reviewers`, {
      hint: 'Name them in the plan: review: { by: [claude, codex] }, or here: --by claude',
    });
  const most = Math.max(by.length, planned.length);
  const places = Array.from({ length: most }, (_, index) =>
    taskEpic(epic, `${mergedName}.review-${index + 1}`),
  );
  // A review that died has cost something too.
  const before = await charge(orch, epic, places);
  const { state } = await readView(orch, epic);
  const to = await readBranch(orch.repository, mergedBranch(epic));
  const begun = readCurrent(state, 'convoy')?.base;
  if (to === null || begun == null || begun === to)
    throw new OrchError('USAGE', `${epic} has merged nothing yet, so there is nothing to review`, {
      hint: `See how it is: orch convoy show ${epic}`,
    });
  const from = parseOid(begun);
  const open = listOpenFindings(state, null);
  const limit = budgetOf(state);
  const left =
    limit === null ? null : Math.max(0, limit - spentIn(state.ledger) - (await readPromised(orch, epic)));
  if (left === 0)
    throw new OrchError('BUDGET_EXCEEDED', `the budget of ${epic} is used up, and a review costs money`, {
      hint: `Raise it: orch convoy budget +5 -e ${epic}`,
    });
  const titles = (plan?.tasks ?? []).map((task) => `- ${task.id}: ${titleOf(task)}`);
  const reviews = await runReviews(
    orch,
    {
      ...{ convoy: epic, name: mergedName, by, from, to, open, env: {} },
      epicOf: (place) => places[place - 1] ?? taskEpic(epic, `${mergedName}.review`),
      task: `All tasks of ${convoy.run.head.plan} together:\n${titles.join('\n')}`,
      allowance: left === null ? null : Math.floor(left / by.length),
      onLook: async () => {},
    },
    signal,
  );
  const costUsd = toUsd((await charge(orch, epic, places)) - before);
  if (reviews === null) return null;
  const decision = decideReview(reviews, Math.min(required, by.length));
  const all = reviews.flatMap((review) => (review.kind === 'review' ? review.findings : []));
  const findings = decision.kind === 'missing' ? all : [...decision.grave, ...decision.deferred];
  const known = (await readView(orch, epic)).state;
  // What an earlier review left open is there already.
  const isKnown = new Set(open.map(keyOf));
  const fresh = findings.filter((finding) => !isKnown.has(keyOf(finding)));
  if (decision.kind !== 'missing') await note(orch, epic, deferredFacts(known, mergedName, fresh));
  const isNamed = new Set(findings.map(keyOf));
  return {
    ...{ from, to, reviews, decision: decision.kind, findings, costUsd },
    open: open.filter((each) => !isNamed.has(keyOf(each))),
    notReady: explainNotReady(decision),
  };
}

/** What workers that still run may spend. */
async function readPromised(orch: Orch, convoy: EpicId): Promise<Micros> {
  let sum: Micros = 0;
  for (const { epic } of listLive(orch.home).filter((live) => isTaskOf(live.epic, convoy))) {
    const { state } = await readView(orch, epic);
    sum += Math.max(0, (budgetOf(state) ?? 0) - spentIn(state.ledger));
  }
  return sum;
}

function explainNotReady(decision: ReviewDecision): string | null {
  switch (decision.kind) {
    case 'accepted':
      return null;
    case 'missing':
      return decision.reason;
    case 'sent_back':
      return decision.feedback;
  }
}

/** Makes what the reviewers have cost the cost of the convoy, and returns how much that is. */
async function charge(orch: Orch, epic: EpicId, places: readonly EpicId[]): Promise<Micros> {
  let sum: Micros = 0;
  for (const place of places) {
    const { state } = await readView(orch, place);
    if (spentIn(state.ledger) === 0) continue;
    const { ledger } = (await readView(orch, epic)).state;
    const charges = chargeTask(place, state.ledger, { convoy: ledger, payer: makeSessionId(orch) });
    await note(
      orch,
      epic,
      // Added up: the calls of a day share a session, in which a second reading of a meter would only replace the first.
      charges
        .filter(({ usage }) => !isDeepStrictEqual(usage, noUsage))
        .map((each): Fact => ({ kind: 'cost', ...each })),
    );
    sum += spentIn(state.ledger);
  }
  return sum;
}

async function note(orch: Orch, epic: EpicId, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const settings = { ...(await orch.readSettings()), snapshot: false };
  await recordTo(orch, findDestination(orch, epic, settings, null), facts);
}
