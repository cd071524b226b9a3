import { OrchError } from '../errors.ts';
import { refuseCostElsewhere } from '../session/above.ts';
import { readView } from '../session/context.ts';
import { recordIn } from '../session/here.ts';
import type { Fact } from '../state/facts.ts';
import { cleanLine, cutColumns, maxTextBytes } from '../text.ts';
import type { EpicId } from '../types.ts';
import { count, formatUsd } from '../units.ts';
import { choosePlace, epicOption, rememberEpic } from './choose.ts';
import { showOutcome } from './outcome.ts';
import { kinds } from './record-kinds.ts';
import type { Kind } from './record-texts.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, type GroupSpec, textOf } from './spec.ts';

/** A kind of thing that can be recorded, as a command. */
function makeCommand({ name, description, argument, options = [], examples, makeFacts }: Kind): CommandSpec {
  return {
    name,
    description,
    argument,
    options: [epicOption('the epic; by default that of the running session'), ...options],
    examples,
    run: (context, call) =>
      context.withOrch(async (orch) => {
        const place = await choosePlace(context, orch, textOf(call, 'epic'));
        const readState = async () => (await readView(orch, place.epic)).state;
        const session = place.kind === 'running' ? place.session : null;
        const about = { epic: place.epic, session, byAgent: context.settings.byAgent, cwd: context.cwd };
        const made = [await makeFacts({ orch, call, text: call.rest.join(' '), readState, ...about })].flat();
        if (made.length === 0) throw nothingToRecord(place.epic, name);
        await refuseCostElsewhere(orch, place, made);
        const outcome = await recordIn(orch, place, made);
        if (place.kind === 'opened') await rememberEpic(orch, place.epic);
        if (hasCutText(made)) context.out.tell(cutWarning);
        return showOutcome(context, place.epic, outcome, describeMade(made, name, place.epic));
      }),
  };
}

const cutWarning = `orch: a text was cut to ${maxTextBytes / 1024} KB: what is longer belongs in a file, which a record can name`;

/** Is a text longer than what is kept of one? Nobody may think that all of it is. */
function hasCutText(made: readonly Fact[]): boolean {
  const isLong = (value: unknown): boolean =>
    typeof value === 'string'
      ? Buffer.byteLength(value.trim()) > maxTextBytes
      : typeof value === 'object' && value !== null && Object.values(value).some(isLong);
  return made.some(isLong);
}

/** `note recorded for x`; of a blocker that no longer is one, which. */
function describeMade(made: readonly Fact[], name: string, epic: EpicId): string {
  const last = made.at(-1);
  if (last?.kind === 'blocker' && last.resolvedAt !== null)
    return `blocker ${last.id} resolved for ${epic}: ${cutColumns(cleanLine(last.text), 60)}`;
  if (last?.kind === 'question' && last.resolvedAt !== null)
    return `question ${last.id} answered for ${epic}: ${cutColumns(cleanLine(last.text), 60)}`;
  if (last?.kind === 'cost' && last.usage.corrected)
    return `cost corrected for ${epic}: ${formatUsd(last.usage.micros)} instead of ${formatUsd(last.usage.corrected)}`;
  return `${made.length === 1 ? name : count(made.length, name)} recorded for ${epic}`;
}

function nothingToRecord(epic: EpicId, name: string): OrchError {
  return new OrchError('USAGE', `there is no ${name} to record for ${epic}: nothing has changed`, {
    hint: `Name what there is: orch record ${name} PATH`,
  });
}

export const recordGroup: GroupSpec = {
  name: 'record',
  summary: 'record what happens in a session',
  description: 'Records what happens: into the running session, or into one that is opened for the call.',
  commands: kinds.map(makeCommand),
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [recordGroup]);
}
