import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { findNamesake, isAtWork } from '../plan/begin.ts';
import { listDoneEffects, type Wish } from '../plan/choice.ts';
import { describeRun, figuresOfKnown } from '../plan/describe.ts';
import { placeOf } from '../plan/run-plan.ts';
import { findRun, isUnfinished, type KnownRun } from '../plan/runs.ts';
import type { Plan } from '../plan/types.ts';
import { readAllViews, resolveEpic } from '../session/resolve.ts';
import type { EpicId } from '../types.ts';
import { tellChoice, tellUnreadable } from './choose.ts';
import type { Context } from './run.ts';

type WantedRun = { readonly plan: Plan; readonly path: string };
type Elsewhere = { readonly epic: EpicId; readonly run: KnownRun };

/**
 * The epic of a plan's run: the one named, else the plan's own, unless a run of the plan that did not succeed is on
 * another. That one is resumed where it is, and not passed over by a new one.
 */
export async function choosePlanEpic(
  context: Context,
  orch: Orch,
  given: string | undefined,
  { wish, ...wanted }: WantedRun & { readonly wish: Wish },
): Promise<EpicId> {
  const { plan } = wanted;
  const question = { given, environment: context.settings.epic, name: plan.name, create: true };
  const choice = await resolveEpic(orch, question);
  const isNamed = choice.because === 'given' || choice.because === 'environment';
  const isSought = wish.kind === 'plain' ? isNotRepeated : isResumable;
  const [only, ...more] =
    isNamed || wish.kind === 'fresh' ? [] : await findElsewhere(context, orch, wanted, choice.epic, isSought);
  if (only === undefined) {
    tellChoice(context, choice);
    return choice.epic;
  }
  if (isAtWork(orch, only.run)) return only.epic;
  const epics = [only, ...more].map(({ epic }) => epic).join(', ');
  const where = `${plan.name} has ${more.length > 0 ? 'unfinished runs on epics' : 'an unfinished run on epic'} ${epics}`;
  if (wish.kind === 'plain') {
    if (context.json)
      context.out.print(JSON.stringify({ run: describeRun(plan, figuresOfKnown(only.epic, only.run)) }));
    throw new OrchError('RESUME_NEEDED', where, {
      hint: `Continue it: --resume -e ${only.epic}. Start over on ${choice.epic}: --fresh.`,
      data: { plan: plan.name, run: only.run.id, epicId: only.epic },
    });
  }
  if (more.length > 0)
    throw new OrchError('USAGE', where, {
      hint: `Name the one you mean, such as: --resume -e ${only.epic}`,
      data: { plan: plan.name, epics: [only, ...more].map(({ epic }) => epic) },
    });
  if (!context.json) context.out.tell(context.out.paint('dim', where));
  return only.epic;
}

const isResumable = ({ head }: KnownRun) => head.status !== 'succeeded';

/** Would a plain run do again what this one did, or leave it behind? */
const isNotRepeated = (run: KnownRun) =>
  isUnfinished(run) || (isResumable(run) && listDoneEffects(run).length > 0);

/** The epics, but for this one, with a newest run of the plan that is sought; none where this one has such a run. */
async function findElsewhere(
  context: Context,
  orch: Orch,
  { plan, path }: WantedRun,
  own: EpicId,
  isSought: (run: KnownRun) => boolean,
): Promise<Elsewhere[]> {
  const { views, unreadable } = await readAllViews(orch);
  tellUnreadable(context, unreadable);
  const place = placeOf(orch, path);
  const found = views.flatMap(({ epic, state }): Elsewhere[] => {
    const run = findRun(state, plan.name);
    return run && isSought(run) && findNamesake(place, run) === null ? [{ epic, run }] : [];
  });
  return found.some(({ epic }) => epic === own) ? [] : found;
}

/** Says where there is a run to resume, after there was none on the epic that was named. */
export async function explainNoRun(
  context: Context,
  orch: Orch,
  wanted: WantedRun,
  error: OrchError,
): Promise<OrchError> {
  const { plan } = wanted;
  const epic = error.data.epicId as EpicId; // it is the one that was looked on
  const [other] = await findElsewhere(context, orch, wanted, epic, isResumable);
  if (other === undefined) return error;
  return new OrchError(error.code, error.message, {
    hint: `${plan.name} has an unfinished run on epic ${other.epic}: add -e ${other.epic}`,
    data: error.data,
    cause: error.cause,
  });
}
