import * as brief from '../checkpoint/brief/brief.ts';
import type { Brief } from '../checkpoint/brief/fit.ts';
import * as source from '../checkpoint/brief/source.ts';
import type { Checkpoint } from '../checkpoint/list.ts';
import * as policies from '../checkpoint/policy.ts';
import { OrchError } from '../errors.ts';
import type { State } from '../state/lists.ts';
import { realClock } from '../system/clock.ts';
import type { Millis, Trigger } from '../types.ts';
import { toUsd } from '../units.ts';
import type { LoadedCheckpoint } from './checkpoints.ts';
import type { BudgetNotice, OrchestrationContext } from './context.ts';

/* Decisions and texts that need no repository, made from whatever the other functions return. */

/** What is to be done now, with amounts in dollars. */
export type Verdict = {
  readonly checkpoint: policies.Verdict['checkpoint'];
  readonly warnings: readonly BudgetNotice[];
  readonly stop: BudgetNotice | null;
};

export function inDollars({
  warn,
  stop,
}: Pick<policies.Verdict, 'warn' | 'stop'>): Omit<Verdict, 'checkpoint'> {
  const notice = ({ kind, spent, limit }: policies.Warning): BudgetNotice => {
    return { kind, spentUsd: toUsd(spent), limitUsd: toUsd(limit) };
  };
  return { warnings: warn.map(notice), stop: stop && notice(stop) };
}

/** What a policy says of an epic: is a checkpoint due, is a warning, is the money gone? */
export function decide(
  policy: policies.Policy,
  view: policies.View | LoadedCheckpoint,
  now: Millis = realClock.now(),
): Verdict {
  const verdict = policies.decide(policy, asView(view), now);
  return { checkpoint: verdict.checkpoint, ...inDollars(verdict) };
}

/**
 * The trigger that calls for a checkpoint now, or null where none does. A context tells of the time and the money; what
 * happened can be named as a trigger.
 */
export function shouldCheckpoint(
  policy: policies.Policy,
  known: policies.View | LoadedCheckpoint | OrchestrationContext,
  now: Millis = realClock.now(),
  happened: Trigger | null = null,
): Trigger | null {
  if (happened !== null && policies.isOn(policy, happened)) return happened;
  if ('budget' in known) return findDue(policy, known, now);
  return policies.shouldCheckpoint(policy, asView(known), now);
}

function findDue(
  { cost, interval }: policies.Policy,
  { budget, lastCheckpoint }: OrchestrationContext,
  now: Millis,
): Trigger | null {
  const { spentUsd, limitUsd, level } = budget;
  const before = lastCheckpoint?.costUsd ?? 0;
  const crosses = (fraction: number) =>
    limitUsd !== null && spentUsd >= fraction * limitUsd && before < fraction * limitUsd;
  if (level === 'exceeded' && crosses(1)) return 'budget';
  if (cost.some(crosses)) return 'cost';
  if (interval === null) return null;
  return lastCheckpoint === null || now - Date.parse(lastCheckpoint.timestamp) >= interval
    ? 'interval'
    : null;
}

function asView(known: policies.View | LoadedCheckpoint): policies.View {
  if ('pending' in known) return known;
  const { checkpoint, document } = refuseNothing(known);
  const at = Date.parse(checkpoint.timestamp);
  const commit = { oid: checkpoint.commit, tree: checkpoint.commit, parents: [], message: '' };
  const saved = { commit: { ...commit, authoredAt: at, committedAt: at }, document };
  return { saved, pending: [], state: document.state };
}

/** Programs without types hand over what they got, and that may have been null. */
function refuseNothing<T extends object>(known: T): T {
  if (typeof known === 'object' && known !== null) return known;
  throw new OrchError('USAGE', 'there is no checkpoint to read from', {
    hint: 'loadLatestCheckpoint gives null where an epic has none',
  });
}

/** What the next agent or person needs to know: from a checkpoint that was loaded, or from a state. */
export function generateResumeBrief(
  from: brief.BriefInput | LoadedCheckpoint,
  options: { readonly maxTokens?: number } = {},
): Brief {
  if ('state' in refuseNothing(from)) return brief.generateResumeBrief(from as brief.BriefInput, options);
  const { checkpoint, document } = from as LoadedCheckpoint; // without a state it is the other
  const { epicId, state } = document;
  const input = { epicId, state, checkpoint: { ...document, gates: checkpoint.gates } };
  return brief.generateResumeBrief(input, options);
}

/** Is there anything worth resuming? */
export function hasResumableContext(known: State | LoadedCheckpoint): boolean {
  refuseNothing(known);
  return source.hasResumableContext('document' in known ? known.document.state : known);
}

/** A checkpoint in one line, for people. */
export function formatCheckpointSummary(known: Checkpoint | LoadedCheckpoint): string {
  refuseNothing(known);
  return brief.formatCheckpointSummary('document' in known ? known.checkpoint : known);
}
