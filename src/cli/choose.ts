import { epicNotFound } from '../checkpoint/list.ts';
import { OrchError, systemCode } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { type EpicView, epicExists, readView } from '../session/context.ts';
import { listWaiting } from '../session/fate.ts';
import type { Place } from '../session/here.ts';
import { rememberUsed } from '../session/last-used.ts';
import {
  type EpicChoice,
  findOwn,
  findRunning,
  resolveEpic,
  resolvePlace,
  type UnreadableEpic,
} from '../session/resolve.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run.ts';
import { type Call, type OptionSpec, textOf } from './spec.ts';

export const epicOption = (description = 'the epic'): OptionSpec => ({
  flags: '-e, --epic <id>',
  description,
  names: 'epic',
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
  branch: 'from the branch',
  'last used': 'the last one used on this branch',
  'only one': 'the only one',
  'made up': 'made up; name it yourself with --epic',
};

/** Says which epic is meant where the user did not. */
function tellChoice({ out, json }: Context, { epic, because }: EpicChoice): void {
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
): Promise<EpicId> {
  if (given === undefined && !context.settings.epic) {
    const { session } = context.settings;
    const own = session && (await findOwn(orch, session));
    const running = own || findRunning(orch, null);
    if (running) return running.epic;
  }
  const choice = await resolveEpic(orch, { given, environment: context.settings.epic, create });
  tellChoice(context, choice);
  return choice.epic;
}

/** Where a command's facts go. */
export async function choosePlace(
  context: Context,
  orch: Orch,
  given: string | undefined,
  create = true,
): Promise<Place> {
  const { epic: environment, session } = context.settings;
  const { place, choice } = await resolvePlace(orch, { given, environment, session, create, agent: null });
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
