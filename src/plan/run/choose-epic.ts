import { OrchError } from '../../errors.ts';
import type { Orch } from '../../orch.ts';
import {
  type EpicChoice,
  readAllViews,
  resolveEpic,
  type UnreadableEpic,
} from '../../record/which/which-epic.ts';
import type { EpicId } from '../../types.ts';
import type { Plan } from '../plan.ts';
import type { RunIntent } from './choose-run.ts';
import {
  findNamesake,
  findRun,
  isActive,
  isUnfinished,
  type KnownRun,
  listDoneEffects,
} from './known-runs.ts';
import { describeKnownRun, type RunInfo } from './progress.ts';
import { locatePlan } from './run-plan.ts';

type PlanFile = {
  readonly plan: Plan;
  readonly path: string;
  readonly onUnreadable: (unreadable: readonly UnreadableEpic[]) => void;
};

export type EpicQuestion = PlanFile & {
  readonly intent: RunIntent;
  /** The epic that the user named with an option. */
  readonly given: string | undefined;
  readonly environment: string | undefined;
};

export type PlanEpic =
  /** The epic that was named, or the plan's own. */
  | { readonly kind: 'chosen'; readonly epic: EpicId; readonly choice: EpicChoice }
  /** Another epic has an unfinished run of the plan, which is continued there. */
  | { readonly kind: 'elsewhere'; readonly epic: EpicId; readonly message: string | null }
  /** Another epic has an unfinished run, and the user has to say whether to continue it. */
  | { readonly kind: 'refused'; readonly run: RunInfo; readonly error: OrchError };

/**
 * Chooses the epic of a plan's run: the one named, else the plan's own, unless another epic has a run of the plan that
 * did not succeed. That run is resumed on its epic, because a new run would repeat what it did.
 */
export async function choosePlanEpic(orch: Orch, question: EpicQuestion): Promise<PlanEpic> {
  const { plan, intent, given, environment } = question;
  const choice = await resolveEpic(orch, { given, environment, name: plan.name, create: true });
  const isNamed = choice.because === 'given' || choice.because === 'environment';
  const isRelevant = intent.kind === 'plain' ? blocksPlainRun : isResumable;
  const [only, ...more] =
    isNamed || intent.kind === 'fresh'
      ? []
      : await findRunsElsewhere(orch, question, choice.epic, isRelevant);
  if (only === undefined) return { kind: 'chosen', epic: choice.epic, choice };
  if (isActive(orch, only.run)) return { kind: 'elsewhere', epic: only.epic, message: null };
  const all = [only, ...more].map(({ epic }) => epic);
  const message = `${plan.name} has ${more.length > 0 ? 'unfinished runs on epics' : 'an unfinished run on epic'} ${all.join(', ')}`;
  if (intent.kind === 'plain') {
    const error = new OrchError('RESUME_NEEDED', message, {
      hint: `Continue it: --resume -e ${only.epic}. Start over on ${choice.epic}: --fresh.`,
      data: { plan: plan.name, run: only.run.id, epicId: only.epic },
    });
    return { kind: 'refused', run: describeKnownRun(plan, only.epic, only.run), error };
  }
  if (more.length > 0)
    throw new OrchError('USAGE', message, {
      hint: `Name the one you mean, such as: --resume -e ${only.epic}`,
      data: { plan: plan.name, epics: all },
    });
  return { kind: 'elsewhere', epic: only.epic, message };
}

const isResumable = ({ head }: KnownRun) => head.status !== 'succeeded';

/** Whether a plain run would repeat what this run did, or abandon it. */
const blocksPlainRun = (run: KnownRun) =>
  isUnfinished(run) || (isResumable(run) && listDoneEffects(run).length > 0);

/** Finds the other epics whose newest run of the plan matches; none if the plan's own epic has such a run. */
async function findRunsElsewhere(
  orch: Orch,
  { plan, path, onUnreadable }: PlanFile,
  own: EpicId,
  matches: (run: KnownRun) => boolean,
): Promise<{ readonly epic: EpicId; readonly run: KnownRun }[]> {
  const { views, unreadable } = await readAllViews(orch);
  onUnreadable(unreadable);
  const location = locatePlan(orch, path);
  const found: { epic: EpicId; run: KnownRun }[] = [];
  for (const view of views) {
    const run = await findRun(orch.git, view, plan.name);
    if (run && matches(run) && findNamesake(location, run) === null) found.push({ epic: view.epic, run });
  }
  return found.some(({ epic }) => epic === own) ? [] : found;
}

/** Adds to "there is no run to resume on this epic" the name of an epic that has one. */
export async function explainNoRun(
  orch: Orch,
  file: PlanFile,
  epic: EpicId,
  error: OrchError,
): Promise<OrchError> {
  const found = await findRunsElsewhere(orch, file, epic, () => true);
  const other = found.find(({ run }) => isResumable(run)) ?? found[0];
  if (other === undefined) return error;
  const { name } = file.plan;
  return new OrchError(error.code, error.message, {
    hint: isResumable(other.run)
      ? `${name} has an unfinished run on epic ${other.epic}: add -e ${other.epic}`
      : `The newest run of ${name} is on epic ${other.epic}, and has succeeded: nothing is left to do`,
    data: error.data,
    cause: error.cause,
  });
}
