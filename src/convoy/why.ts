import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { readRun } from '../plan/run/known-runs.ts';
import { readWaiting } from '../session/agent/agent-waiting.ts';
import type { Millis, SessionId } from '../types.ts';
import { formatInstant, formatUsd, toMicros } from '../units.ts';
import type { KnownHealth } from '../witness/health-file.ts';
import type { KnownConvoy } from './find-convoy.ts';
import { type ConvoyTask, loadIfThere, showConvoy } from './show-convoy.ts';
import { decideAllowance } from './work/allowance.ts';
import { toBeClaimed } from './work/job.ts';
import type { TaskState } from './work/task-transition.ts';

/* Why a task is as it is: what is seen of it, what was decided last, and what happens next. */

export type Explanation = {
  readonly task: string;
  readonly status: TaskState;
  /** What is seen of it now, or was last. */
  readonly evidence: readonly string[];
  /** What was decided last, and when; null if nothing was yet. */
  readonly decided: { readonly what: string; readonly at: string } | null;
  readonly next: string;
};

export type WhyFacts = {
  readonly name: string;
  readonly task: ConvoyTask;
  /** Is its scheduler at work in this clone? */
  readonly isActive: boolean;
  /** The tasks it needs that are not done. */
  readonly openNeeds: readonly Pick<ConvoyTask, 'id' | 'status'>[];
  /** The tasks that cannot start before it is done. */
  readonly neededBy: readonly string[];
  /** How many workers may work at once, and how many do. */
  readonly workers: { readonly most: number; readonly now: number };
  /** Whose budget has too little left for it: its own, or the convoy's; null if it can be paid for. */
  readonly shortOf: 'task' | 'convoy' | null;
  /** Is it for a person or an agent to claim? */
  readonly isClaimed: boolean;
  /** Does the plan have it wait for what it collides with? */
  readonly waitsForCollision: boolean;
  /** When its provider's limit ends; null if that is not known, or there is none. */
  readonly limitedUntil: Millis | null;
};

/** Reads what explains a task, and explains it. */
export async function explainTask(orch: Orch, convoy: KnownConvoy, id: string): Promise<Explanation> {
  const { epic, view, run, path, isActive } = convoy;
  const info = await showConvoy(orch, convoy, true);
  const task = info.tasks.find((each) => each.id === id);
  if (task === undefined) throw new Error(`${epic} has no task ${id}`);
  const plan = loadIfThere(path);
  const statusOf = new Map(info.tasks.map((each) => [each.id, each.status]));
  const needs = plan?.tasks.find((each) => each.id === id)?.needs ?? [];
  const record = lookUp((await readRun(orch.git, view, run)).tasks, id);
  const { limitUsd, spentUsd } = info.budget;
  const worker = { ...plan?.convoy.worker, ...plan?.tasks.find((each) => each.id === id)?.convoy.worker };
  const spent = toMicros(task.costUsd);
  const allowance = decideAllowance({
    left: limitUsd === null ? null : toMicros(limitUsd) - toMicros(spentUsd),
    taskLeft: worker.budget === undefined ? null : worker.budget - spent,
    finished: info.tasks.flatMap(({ status, costUsd }) => (status === 'done' ? [toMicros(costUsd)] : [])),
    ...{ spent, outstanding: [], waiting: [] },
  });
  const waiting = task.sessionId === null ? null : readWaiting(orch.home, task.sessionId as SessionId);
  const facts: WhyFacts = {
    ...{ name: `${epic}/${id}`, task, isActive },
    openNeeds: needs.flatMap((need) => {
      const status = statusOf.get(need) ?? 'waiting';
      return status === 'done' ? [] : [{ id: need, status }];
    }),
    neededBy: (plan?.tasks ?? []).filter((each) => each.needs.includes(id)).map((each) => each.id),
    workers: { most: plan?.convoy.workers ?? 4, now: info.workers },
    shortOf: allowance.kind === 'held' ? allowance.why : null,
    isClaimed: worker.agent === toBeClaimed,
    waitsForCollision: plan?.convoy.collisions === 'hold' && task.collisions.length > 0,
    limitedUntil: waiting?.for === 'limit' && typeof waiting.until === 'number' ? waiting.until : null,
  };
  const isAsking = task.status === 'needs_input';
  const what = (isAsking ? null : record?.why) ?? (record === undefined ? null : describeStep(task));
  return {
    ...{ task: id, status: task.status },
    evidence: listEvidence(facts),
    decided: record === undefined || what === null ? null : { what, at: formatInstant(record.at) },
    next: explainNext(facts),
  };
}

function describeStep({ status, attempts, reason }: ConvoyTask): string {
  const attempt = `attempt ${attempts}`;
  switch (status) {
    case 'working':
      return `${attempt} began`;
    case 'checking':
      return `${attempt} was done`;
    case 'merging':
      return `${attempt} was done, and goes to the merge queue`;
    case 'done':
      return `${attempt} was merged`;
    case 'needs_input':
      return 'it asked, and waits for the answer';
    default:
      return reason ?? status.replace('_', ' ');
  }
}

/** What is seen of a task, most telling first. */
export function listEvidence({ task }: WhyFacts): string[] {
  const { doing, activeAt, health, worktree, branch, costUsd, attempts, agent, model, reason, status } = task;
  const who = agent === null ? null : `${agent}${model === null ? '' : ` with ${model}`}`;
  const cost = costUsd > 0 ? `, ${formatUsd(toMicros(costUsd))} so far` : '';
  return [
    ...(status === 'needs_input' && reason !== null ? [`It asks: ${reason}`] : []),
    ...(who === null ? [] : [`${who}, attempt ${attempts}${cost}`]),
    ...listTries(task),
    ...(health === 'dead' ? ['The process of its worker is gone.'] : []),
    ...listWitnessed(task),
    ...(doing === null ? [] : [`Last seen${activeAt === null ? '' : ` at ${activeAt}`}: ${doing}`]),
    ...(worktree === null ? [] : [`It works in ${worktree}, on ${branch}.`]),
  ];
}

/** Why it works with this model, if it has one, and why earlier attempts were not accepted. */
function listTries({ tries }: ConvoyTask): string[] {
  const last = tries.at(-1);
  const refused = tries.flatMap(({ attempt, model, refused: reason }) =>
    reason === null
      ? []
      : [`Attempt ${attempt}${model === null ? '' : ` with ${model}`} was not accepted: ${reason}`],
  );
  return [...refused, ...(last?.model == null ? [] : [`It has ${last.model}, because ${last.why}.`])];
}

/** What the witness sees, unless all is well, and what it did about it. */
function listWitnessed({ witness, health }: ConvoyTask): string[] {
  if (witness === null || health === null || health === 'dead') return [];
  const { why, since, action, actedAt } = witness;
  const isWell = witness.health === 'working' && action === null;
  const acted =
    action === null || actedAt === null ? [] : [`${describeAction(action)} at ${formatInstant(actedAt)}.`];
  return isWell ? [] : [`The witness: ${witness.health} since ${formatInstant(since)}: ${why}.`, ...acted];
}

function describeAction(action: NonNullable<KnownHealth['action']>): string {
  switch (action) {
    case 'nudge':
      return 'The witness told the agent so';
    case 'escalate':
      return 'The witness ended the attempt, for the next model';
    case 'end':
      return 'The witness ended it';
  }
}

/** What happens next, and what a person can do about it: a command comes last, so that it can be copied. */
export function explainNext(facts: WhyFacts): string {
  const { name, task, isActive, openNeeds, neededBy, workers, shortOf, isClaimed, limitedUntil } = facts;
  const convoy = name.slice(0, name.lastIndexOf('/'));
  const raise = isActive
    ? `orch convoy budget +10 -e ${convoy}`
    : `orch convoy resume ${convoy} --budget +10`;
  const begin = isActive ? '.' : ` once the convoy continues: orch convoy resume ${convoy}`;
  const blocks =
    neededBy.length === 0
      ? ''
      : ` ${nameAll(neededBy.map((id) => ({ id })))} ${neededBy.length === 1 ? 'waits' : 'wait'} for it.`;
  switch (task.status) {
    case 'needs_input':
      return `It waits for your answer: orch convoy say ${name} "…"`;
    case 'held':
      if (shortOf === 'task')
        return isActive
          ? `It waits for money.${blocks} Raise its budget in the plan, pause the convoy (orch convoy pause ${convoy}), then: orch convoy resume ${convoy}`
          : `It waits for money.${blocks} Raise its budget in the plan, then: orch convoy resume ${convoy}`;
      if (shortOf === 'convoy') return `It waits for money.${blocks} Continue with a higher budget: ${raise}`;
      return facts.waitsForCollision
        ? `It continues when what it collides with is merged.${blocks} To continue it now: orch convoy resume ${name}`
        : `It waits for you.${blocks} Continue it: orch convoy resume ${name}`;
    case 'failed':
      return isActive
        ? `It is not tried again by itself.${blocks} Try it again: orch convoy retry ${name}`
        : `It is tried again when the convoy continues.${blocks} Continue it: orch convoy resume ${convoy}`;
    case 'cancelled':
      return isActive
        ? `It stays as it is. Bring it back: orch convoy retry ${name}`
        : `It stays as it is. To have it done after all, add it to the plan under another id: orch convoy resume ${convoy}`;
    case 'skipped': {
      const failed = openNeeds.find(({ status }) => status === 'failed');
      if (failed !== undefined)
        return `It is done after all once ${failed.id}, which failed, is: orch convoy why ${convoy}/${failed.id}`;
      return 'It stays as it is: what it needs was not done, or its condition was not met.';
    }
    case 'done':
      return task.commit === null ? 'It is done.' : `It is done, and merged as ${task.commit.slice(0, 10)}.`;
    case 'checking':
      return `The plan's reviewers look at its work, if there are any; then it is merged, and the gates decide${begin}`;
    case 'merging':
      return `Its work is merged, and the gates decide${begin}`;
    case 'working':
      if (task.health === 'limited')
        return limitedUntil === null
          ? "It continues when its provider's limit ends."
          : `It continues when its provider's limit ends, at ${formatInstant(limitedUntil)}.`;
      if (task.health === 'dead') return `Its worker continues where it was${begin}`;
      if (isClaimed && isActive) return `It waits for who claimed it: orch convoy done ${name}`;
      return `When its agent ends, its work is committed, merged and checked by the gates${begin}`;
    case 'waiting':
    case 'ready': {
      const lost = openNeeds.filter(({ status }) =>
        ['failed', 'cancelled', 'held', 'needs_input'].includes(status),
      );
      if (lost[0] !== undefined)
        return `It waits for ${nameAll(openNeeds)}, and ${lost[0].id} ${describeLost(lost[0].status)}: orch convoy why ${convoy}/${lost[0].id}`;
      if (openNeeds.length > 0)
        return `It starts when ${nameAll(openNeeds)} ${openNeeds.length === 1 ? 'is' : 'are'} merged${begin}`;
      if (isClaimed && isActive) return `It waits to be claimed: orch convoy claim ${name}`;
      if (shortOf === 'convoy')
        return `The convoy's budget has too little left for it. Continue with a higher one: ${raise}`;
      const room =
        workers.now >= workers.most
          ? `as soon as one of ${workers.most} workers is free`
          : 'as soon as there is money for it and a worker is free';
      return isActive ? `It starts ${room}.` : `It starts${begin}`;
    }
  }
}

function nameAll(tasks: readonly { readonly id: string }[]): string {
  const names = tasks.slice(0, 10).map(({ id }) => id);
  return tasks.length > 10 ? `${names.join(', ')} and ${tasks.length - 10} more` : names.join(' and ');
}

function describeLost(status: TaskState): string {
  switch (status) {
    case 'failed':
      return 'failed';
    case 'cancelled':
      return 'was cancelled';
    case 'needs_input':
      return 'has a question';
    default:
      return 'is held';
  }
}
