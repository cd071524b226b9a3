import { OrchError } from '../../../errors.ts';
import { type Entry, type RecordedEntry, recordEntry } from '../../../index.ts';
import { cleanLine, cutColumns, maxTextBytes } from '../../../text.ts';
import { count, formatUsd } from '../../../units.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, type Command, type CommandSpec, type ExitStatus, readText } from '../../spec.ts';
import { showRecorded } from '../../views/recorded-view.ts';

/** A kind of entry, and its command. */
type Kind = Pick<CommandSpec, 'description' | 'argument' | 'examples'> & {
  readonly name: Entry['kind'];
  readonly options?: CommandSpec['options'];
  /** Reads the entry; `text` is all words of the argument. */
  readEntry(call: Call, text: string): Entry;
};

const text = { name: 'text', required: true, several: true, description: 'the text' } as const;

const kinds: readonly Kind[] = [
  {
    name: 'note',
    description: 'Record something worth knowing.',
    argument: text,
    examples: ['orch record note "The redirect loops in middleware"'],
    readEntry: (_, text) => ({ kind: 'note', text }),
  },
  {
    name: 'decision',
    description: 'Record a decision and its reason.',
    argument: text,
    options: [{ flags: '--rationale <text>', description: 'why' }],
    examples: ['orch record decision "Server sessions, not JWT" --rationale "Revocation"'],
    readEntry: (call, text) => ({ kind: 'decision', text, rationale: readText(call, 'rationale') }),
  },
  {
    name: 'blocker',
    description: 'Record a blocker, or resolve one.',
    argument: {
      ...text,
      description: 'what blocks the work; with --resolve: its id or part of its text',
    },
    options: [{ flags: '--resolve', description: 'it no longer blocks the work' }],
    examples: [
      'orch record blocker "No access to the staging database"',
      'orch record blocker staging --resolve',
    ],
    readEntry: ({ options }, text) => ({ kind: 'blocker', text, resolved: options.resolve === true }),
  },
  {
    name: 'tried',
    description: 'Record what was tried and failed.',
    argument: text,
    options: [{ flags: '--why <text>', description: 'why it failed' }],
    examples: ['orch record tried "Redirect in middleware" --why "It loops"'],
    readEntry: (call, text) => ({ kind: 'tried', text, why: readText(call, 'why') }),
  },
  {
    name: 'question',
    description: 'Record a question for the user, or its answer. Work continues in the meantime.',
    argument: { ...text, description: 'the question; with --answer: its id or part of its text' },
    options: [{ flags: '--answer <text>', description: 'what the user answered' }],
    examples: [
      'orch record question "Round half up, or to even?"',
      'orch record question round --answer "Half up"',
    ],
    readEntry: (call, text) => ({ kind: 'question', text, answer: readText(call, 'answer') }),
  },
  {
    name: 'file',
    description:
      'Record files that changed or should be read; without PATH, those that changed since the session began.',
    argument: { name: 'path', several: true, description: 'one or more files' },
    options: [
      { flags: '--change <kind>', description: 'added, modified (the default), deleted or read' },
      { flags: '--priority <n>', description: '1 means read first' },
      { flags: '--why <text>', description: 'why it matters' },
    ],
    examples: ['orch record file', 'orch record file src/auth/login.ts --priority 1 --why "The entry point"'],
    readEntry: (call) => ({
      kind: 'file',
      paths: call.rest,
      change: readChoice(call, 'change', ['added', 'modified', 'deleted', 'read'] as const),
      priority: readNumber(call, 'priority'),
      why: readText(call, 'why'),
    }),
  },
  {
    name: 'issue',
    description: 'Record an issue, or update one.',
    argument: { ...text, name: 'id', description: 'its id, then its title' },
    options: [
      { flags: '--status <status>', description: 'open, in_progress, done or deferred' },
      { flags: '--severity <severity>', description: 'critical, high, medium or low' },
      { flags: '--location <place>', description: 'where it is' },
    ],
    examples: [
      'orch record issue T3 "Redirect after login" --status in_progress',
      'orch record issue T3 --status done',
    ],
    readEntry: (call) => {
      const [id = '', ...title] = call.rest;
      const location = readText(call, 'location');
      const status = readChoice(call, 'status', ['open', 'in_progress', 'done', 'deferred'] as const);
      const severity = readChoice(call, 'severity', ['critical', 'high', 'medium', 'low'] as const);
      const update = {
        ...(title.length > 0 && { title: title.join(' ') }),
        ...(status && { status }),
        ...(severity && { severity }),
        ...(location !== undefined && { location }),
      };
      return { kind: 'issue', id, update };
    },
  },
  {
    name: 'task',
    description: 'Record the current task, or that it is done.',
    argument: {
      name: 'text',
      several: true,
      description: 'the task; with --done: by default the current one',
    },
    options: [{ flags: '--done', description: 'it is done' }],
    examples: ['orch record task "T3: redirect after login"', 'orch record task --done'],
    readEntry: ({ options }, text) => ({ kind: 'task', text, done: options.done === true }),
  },
  {
    name: 'test',
    description: 'Record test results.',
    argument: { name: 'failing', several: true, description: 'the names of failing tests' },
    options: [
      { flags: '--passed <n>', description: 'how many passed' },
      { flags: '--failed <n>', description: 'how many failed' },
      { flags: '--total <n>', description: 'how many in total' },
    ],
    examples: [
      'orch record test --passed 142',
      'orch record test --passed 141 --failed 1 "login redirects to /home"',
    ],
    readEntry: (call) => ({
      kind: 'test',
      passed: readNumber(call, 'passed') ?? null,
      failed: readNumber(call, 'failed') ?? null,
      total: readNumber(call, 'total') ?? null,
      failing: call.rest,
    }),
  },
  {
    name: 'cost',
    description: 'Record a cost in dollars. Costs add up.',
    argument: { name: 'usd', required: true, description: 'dollars, such as 0.25' },
    options: [
      { flags: '-m, --model <name>', description: 'the model that was used' },
      { flags: '--input <tokens>', description: 'input tokens' },
      { flags: '--output <tokens>', description: 'output tokens' },
      { flags: '--cache-read <tokens>', description: 'tokens read from the cache' },
      { flags: '--cache-write <tokens>', description: 'tokens written to the cache' },
      { flags: '--correct <usd>', description: 'an amount recorded by mistake, to be replaced' },
    ],
    examples: [
      'orch record cost 0.25',
      'orch record cost 0.25 --model claude-sonnet-4-5 --output 1200',
      'orch record cost 2.50 --correct 250',
    ],
    readEntry: (call) => ({
      kind: 'cost',
      usd: call.argument ?? '',
      details: {
        model: readText(call, 'model') ?? null,
        input: readNumber(call, 'input') ?? 0,
        output: readNumber(call, 'output') ?? 0,
        cacheRead: readNumber(call, 'cache-read') ?? 0,
        cacheWrite: readNumber(call, 'cache-write') ?? 0,
      },
      correct: readText(call, 'correct'),
    }),
  },
];

/** Reads an option that takes a whole number. */
function readNumber(call: Call, name: string): number | undefined {
  const given = readText(call, name);
  if (given === undefined) return undefined;
  if (/^\d{1,12}$/.test(given)) return Number(given);
  throw new OrchError('USAGE', `--${name} takes a whole number, not ${JSON.stringify(given.slice(0, 80))}`, {
    hint: `Try --${name} 1`,
  });
}

/** Reads an option that takes one of several words. */
function readChoice<T extends string>(call: Call, name: string, choices: readonly T[]): T | undefined {
  const given = readText(call, name);
  const found = choices.find((choice) => choice === given);
  if (given === undefined || found !== undefined) return found;
  throw new OrchError('USAGE', `--${name} can be ${choices.join(', ')}, not ${JSON.stringify(given)}`, {
    hint: `Try --${name} ${choices[0]}`,
  });
}

function makeCommand({ name, readEntry, options = [], ...kind }: Kind): Command {
  return defineCommand({
    ...kind,
    options: [epicOption('the epic; by default that of the running session'), ...options],
    run: (context, call) => runRecord(context, readText(call, 'epic'), readEntry(call, call.rest.join(' '))),
  });
}

/** Records an entry and prints the result. */
export function runRecord(context: Context, epic: string | undefined, entry: Entry): Promise<ExitStatus> {
  const { out, settings, cwd } = context;
  return context.withOrch(async (orch) => {
    const place = await choosePlace(context, orch, epic);
    const recorded = await recordEntry(orch, place, entry, { byAgent: settings.byAgent, cwd });
    if (recorded.isCut)
      out.inform(
        `orch: the text was cut to ${maxTextBytes / 1024} KB. Put longer texts in a file, and record its name.`,
      );
    return showRecorded(context, recorded, describeRecorded(recorded, entry.kind));
  });
}

/** `note recorded for x`; names the blocker or question that was resolved. */
function describeRecorded({ epicId, events }: RecordedEntry, name: string): string {
  const last = events.at(-1);
  if (last?.kind === 'blocker' && last.resolvedAt !== null)
    return `blocker ${last.id} resolved for ${epicId}: ${cutColumns(cleanLine(last.text), 60)}`;
  if (last?.kind === 'question' && last.resolvedAt !== null)
    return `question ${last.id} answered for ${epicId}: ${cutColumns(cleanLine(last.text), 60)}`;
  if (last?.kind === 'cost' && last.usage.corrected)
    return `cost corrected for ${epicId}: ${formatUsd(last.usage.micros)} instead of ${formatUsd(last.usage.corrected)}`;
  return `${events.length === 1 ? name : count(events.length, name)} recorded for ${epicId}`;
}

export const commands = Object.fromEntries(kinds.map((kind) => [kind.name, makeCommand(kind)]));
