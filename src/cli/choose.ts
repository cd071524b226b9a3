import { epicNotFound } from '../checkpoint/list.ts';
import { OrchError, systemCode } from '../errors.ts';
import { isRunId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { type EpicView, epicExists, readView } from '../session/context.ts';
import { listWaiting } from '../session/fate.ts';
import type { Place } from '../session/here.ts';
import { rememberUsed } from '../session/last-used.ts';
import {
  type EpicChoice,
  findOwn,
  findRunning,
  readAllViews,
  resolveEpic,
  resolvePlace,
  type UnreadableEpic,
} from '../session/resolve.ts';
import { sessionsOf } from '../state/run.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run.ts';
import { type Call, type OptionSpec, textOf } from './spec.ts';

export const epicOption = (description = 'the epic'): OptionSpec => ({
  flags: '-e, --epic <id>',
  description,
});

/** The epic that is named, be it as an argument or as an option. */
export function namedEpic(call: Call): string | undefined {
  const option = textOf(call, 'epic');
  if (option !== undefined && call.argument !== undefined && option !== call.argument)
    throw new OrchError('USAGE', `two epics are named: ${call.argument} and ${option}`, {
      hint: 'Name the one you mean',
    });
  return option ?? call.argument;
}

const reasons: { readonly [B in EpicChoice['because']]?: string } = {
  config: 'from the config',
  name: 'named after this plan or spec; choose another with --epic',
  branch: 'from the branch',
  'last used': 'the last one used on this branch',
  'only one': 'the only one',
  'made up': 'made up; name it yourself with --epic',
  request: 'named after the request',
};

/** Says which epic is meant where the user did not. */
export function tellChoice({ out, json }: Context, { epic, because }: EpicChoice): void {
  const why = reasons[because];
  if (why && !json) out.tell(out.paint('dim', `epic ${epic} (${why})`));
}

/**
 * The epic a command means. That of the session it was started in, or of the one which runs here, comes before all
 * that is only guessed.
 */
export async function chooseEpic(
  context: Context,
  orch: Orch,
  given: string | undefined,
  create: boolean,
  request: string | null = null,
): Promise<EpicId> {
  if (given === undefined && !context.settings.epic) {
    const { session } = context.settings;
    const own = session && (await findOwn(orch, session));
    const running = own || findRunning(orch, null);
    if (running) return running.epic;
  }
  const choice = await resolveEpic(orch, { given, environment: context.settings.epic, create, request });
  tellChoice(context, choice);
  return choice.epic;
}

/** The epic that a checkpoint is to be found on by its name: a run's id names its epic too. */
export async function chooseEpicOf(
  context: Context,
  orch: Orch,
  given: string | undefined,
  name: string | undefined,
): Promise<EpicId> {
  if (given !== undefined || name === undefined || !isRunId(name))
    return chooseEpic(context, orch, given, false);
  const { views, unreadable } = await readAllViews(orch);
  const found = views.find(({ state }) => sessionsOf(state.runs, name).size > 0);
  if (found) return found.epic;
  tellUnreadable(context, unreadable);
  throw new OrchError('CHECKPOINT_NOT_FOUND', `there is no run ${name} here`, {
    hint: 'See the runs of an epic with: orch run --list -e EPIC',
    data: { run: name },
  });
}

/** Where a command's facts go; `name` is what the work is called, where it has a name of its own. */
export async function choosePlace(
  context: Context,
  orch: Orch,
  given: string | undefined,
  name?: string,
): Promise<Place> {
  const { epic: environment, session } = context.settings;
  const question = { given, environment, session, name, create: true, agent: null };
  const { place, choice } = await resolvePlace(orch, question);
  tellChoice(context, choice);
  return place;
}

/**
 * For the next command on this branch that names no epic. What was recorded is on disk by now: whoever was told that it
 * failed would do it again.
 */
export async function rememberEpic(orch: Orch, epic: EpicId): Promise<void> {
  try {
    const { branch } = await orch.git.readHead();
    rememberUsed(orch.disk, orch.home, branch, epic);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    orch.report(`the epic is not remembered for this branch: ${(error as Error).message}`); // it has a code, so it is one
  }
}

/** An epic that there is. */
export async function viewEpic(context: Context, orch: Orch, given: string | undefined): Promise<EpicView> {
  const view = await readView(orch, await chooseEpic(context, orch, given, false));
  const isAwaited = listWaiting(orch.home).some(({ epic }) => epic === view.epic);
  if (!epicExists(view) && !isAwaited) throw epicNotFound(view.epic);
  tellDamage(context, view);
  return view;
}

/** Says which epics could not be read at all, and why. */
export function tellUnreadable({ out, json }: Context, unreadable: readonly UnreadableEpic[]): void {
  if (json) return;
  for (const { epicId, message } of unreadable) out.tell(`orch: ${epicId} cannot be read: ${message}`);
}

/** Says what of an epic could not be read, and is missing from what is shown of it. */
export function tellDamage({ out }: Context, { epic, tip }: EpicView): void {
  for (const { commit, problem } of tip.damage) {
    out.tell(`orch: ${epic}: a checkpoint could not be read (${commit.slice(0, 12)}: ${problem})`);
  }
  if (tip.damage.length > 0) out.tell(`      Look closer with: orch checkpoint verify --epic ${epic}`);
}
