import * as source from '../../checkpoint/brief/brief-source.ts';
import type { Brief } from '../../checkpoint/brief/fit-brief.ts';
import * as brief from '../../checkpoint/brief/write-brief.ts';
import type { Checkpoint } from '../../checkpoint/list.ts';
import * as policies from '../../checkpoint/policy.ts';
import { OrchError } from '../../errors.ts';
import type { State } from '../../state/lists.ts';
import { realClock } from '../../system/clock.ts';
import type { Millis, Trigger } from '../../types.ts';
import { type BudgetNotice, inDollars } from '../recorded-entry.ts';
import type { LoadedCheckpoint } from './checkpoint-api.ts';
import type { OrchestrationContext } from './program-context.ts';

/* Decisions and texts that need no repository: they take what the other functions return. */

/** What a policy asks for now, with amounts in dollars. */
export type Verdict = {
  readonly checkpoint: policies.Verdict['checkpoint'];
  readonly warnings: readonly BudgetNotice[];
  readonly stop: BudgetNotice | null;
};

/** Decides by a policy whether an epic needs a checkpoint or a warning now, or must stop. */
export function decide(
  policy: policies.Policy,
  view: policies.View | LoadedCheckpoint,
  now: Millis = realClock.now(),
): Verdict {
  const verdict = policies.decide(policy, asView(view), now);
  return { checkpoint: verdict.checkpoint, ...inDollars(verdict) };
}

/**
 * Finds the trigger that calls for a checkpoint now; null if none does. A context only has the time and the money; pass
 * what happened as a trigger.
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

/** Programs without types may pass the null that `loadLatestCheckpoint` returned. */
function refuseNothing<T extends object>(known: T): T {
  if (typeof known === 'object' && known !== null) return known;
  throw new OrchError('USAGE', 'there is no checkpoint to read from', {
    hint: 'loadLatestCheckpoint returns null for an epic without checkpoints',
  });
}

/** Writes the brief for the next agent or person, from a loaded checkpoint or a state. */
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

/** Tells whether there is anything to resume from. */
export function hasResumableContext(known: State | LoadedCheckpoint): boolean {
  refuseNothing(known);
  return source.hasResumableContext('document' in known ? known.document.state : known);
}

/** Formats a checkpoint in one line, for people. */
export function formatCheckpointSummary(known: Checkpoint | LoadedCheckpoint): string {
  refuseNothing(known);
  return brief.formatCheckpointSummary('document' in known ? known.checkpoint : known);
}
