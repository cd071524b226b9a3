import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { isAtWork } from '../plan/begin.ts';
import type { Wish } from '../plan/choice.ts';
import { findRun, isUnfinished, type KnownRun } from '../plan/runs.ts';
import type { Plan } from '../plan/types.ts';
import { readAllViews, resolveEpic } from '../session/resolve.ts';
import type { EpicId } from '../types.ts';
import { tellChoice, tellUnreadable } from './choose.ts';
import type { Context } from './run.ts';

type Elsewhere = { readonly epic: EpicId; readonly run: KnownRun };

/**
 * The epic of a plan's run: the one named, else the plan's own, unless a run of the plan that did not succeed is on
 * another. That one is resumed where it is, and not passed over by a new one.
 */
export async function choosePlanEpic(
  context: Context,
  orch: Orch,
  given: string | undefined,
  { plan, wish }: { readonly plan: Plan; readonly wish: Wish },
): Promise<EpicId> {
  const question = { given, environment: context.settings.epic, name: plan.name, create: true };
  const choice = await resolveEpic(orch, question);
  const isNamed = choice.because === 'given' || choice.because === 'environment';
  const others =
    isNamed || wish.kind === 'fresh' ? [] : await findElsewhere(context, orch, plan, choice.epic);
  const [only, ...more] = others ?? [];
  if (only === undefined) {
    tellChoice(context, choice);
    return choice.epic;
  }
  if (isAtWork(orch, only.run)) return only.epic;
  const epics = [only, ...more].map(({ epic }) => epic).join(', ');
  const where = `${plan.name} has ${more.length > 0 ? 'unfinished runs on epics' : 'an unfinished run on epic'} ${epics}`;
  if (wish.kind === 'plain')
    throw new OrchError('RESUME_NEEDED', where, {
      hint: `Continue it: --resume -e ${only.epic}. Start over on ${choice.epic}: --fresh.`,
      data: { plan: plan.name, run: only.run.id, epicId: only.epic },
    });
  if (more.length > 0)
    throw new OrchError('USAGE', where, {
      hint: `Name the one you mean, such as: --resume -e ${only.epic}`,
      data: { plan: plan.name, epics: [only, ...more].map(({ epic }) => epic) },
    });
  if (!context.json) context.out.tell(context.out.paint('dim', where));
  return only.epic;
}

/** The epics, but for this one, on which the newest run of a plan did not succeed; none where it did not on this one. */
async function findElsewhere(context: Context, orch: Orch, plan: Plan, own: EpicId): Promise<Elsewhere[]> {
  const { views, unreadable } = await readAllViews(orch);
  tellUnreadable(context, unreadable);
  const found = views.flatMap(({ epic, state }): Elsewhere[] => {
    const run = findRun(state, plan.name);
    return run && isUnfinished(run) ? [{ epic, run }] : [];
  });
  return found.some(({ epic }) => epic === own) ? [] : found;
}

/** Says where there is a run to resume, after there was none on the epic that was named. */
export async function explainNoRun(
  context: Context,
  orch: Orch,
  plan: Plan,
  error: OrchError,
): Promise<OrchError> {
  const epic = error.data.epicId as EpicId; // it is the one that was looked on
  const [other] = await findElsewhere(context, orch, plan, epic);
  if (other === undefined) return error;
  return new OrchError(error.code, error.message, {
    hint: `${plan.name} has an unfinished run on epic ${other.epic}: add -e ${other.epic}`,
    data: error.data,
    cause: error.cause,
  });
}
