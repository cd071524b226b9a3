import { OrchError } from '../errors.ts';
import { isRunId } from '../ids.ts';
import {
  type Destination,
  type EpicChoice,
  findEpic,
  findEpicOfRun,
  type Orch,
  resolveDestination,
  type UnreadableEpic,
} from '../index.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run-command.ts';
import { type Call, type OptionSpec, readText } from './spec.ts';

export const epicOption = (description = 'the epic'): OptionSpec => ({
  flags: '-e, --epic <id>',
  description,
  names: 'epic',
});

/** For commands that can set the budget of their epic. */
export const budgetOption: OptionSpec = {
  flags: '-b, --budget <usd>',
  description: "the epic's budget: 20 in total, +20 on top of what is spent, none for no limit",
};

/** Reads the epic's name, given as an argument or as an option. */
export function readEpicName(call: Call): string | undefined {
  const option = readText(call, 'epic');
  if (option !== undefined && call.argument !== undefined && option !== call.argument)
    throw new OrchError('USAGE', `two epics given: ${call.argument} and ${option}`, {
      hint: 'Name only one',
    });
  return option ?? call.argument;
}

/** How orch chose the epic; nothing is printed for the reasons that are missing. */
const reasons: { readonly [B in EpicChoice['because']]?: string } = {
  config: 'from the config',
  name: 'named after this plan or spec; choose another with --epic',
  branch: 'from the branch',
  'last used': 'the last one used on this branch',
  'only one': 'the only one',
  'made up': 'made up; name it yourself with --epic',
  request: 'named after the request',
};

/** Prints which epic orch chose, if the user named none. */
export function printChoice({ out, json }: Context, { epic, because }: EpicChoice): void {
  const why = reasons[because];
  if (why && !json) out.inform(out.paint('dim', `epic ${epic} (${why})`));
}

/** Finds the epic a command is about, and prints it if the user named none. */
export async function chooseEpic(
  context: Context,
  orch: Orch,
  given: string | undefined,
  create: boolean,
  request: string | null = null,
): Promise<EpicId> {
  const { epic: environment, session } = context.settings;
  const choice = await findEpic(orch, { given, environment, session, create, request });
  printChoice(context, choice);
  return choice.epic;
}

/** Finds the epic of a named checkpoint; a run's id determines its epic. */
export async function chooseEpicOf(
  context: Context,
  orch: Orch,
  given: string | undefined,
  name: string | undefined,
): Promise<EpicId> {
  if (given !== undefined || name === undefined || !isRunId(name))
    return chooseEpic(context, orch, given, false);
  const { epic, unreadable } = await findEpicOfRun(orch, name);
  if (epic) return epic;
  printUnreadable(context, unreadable);
  throw new OrchError('CHECKPOINT_NOT_FOUND', `no run ${name} in this clone`, {
    hint: 'List the runs of an epic: orch run --list -e EPIC',
    data: { run: name },
  });
}

/** Finds where a command's facts go; `name` is the work's own name, such as a spec's. */
export async function choosePlace(
  context: Context,
  orch: Orch,
  given: string | undefined,
  name?: string,
): Promise<Destination> {
  const { epic: environment, session } = context.settings;
  const question = { given, environment, session, name, create: true, agent: null };
  const { destination, choice } = await resolveDestination(orch, question);
  printChoice(context, choice);
  return destination;
}

/** Prints which epics could not be read, and why. */
export function printUnreadable({ out, json }: Context, unreadable: readonly UnreadableEpic[]): void {
  if (json) return;
  for (const { epicId, message } of unreadable) out.inform(`orch: ${epicId} cannot be read: ${message}`);
}
