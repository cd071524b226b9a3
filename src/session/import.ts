import { basename, join } from 'node:path';
import { asFields } from '../cost/fields.ts';
import { addUsage, noUsage, subtractUsage, type Usage } from '../cost/ledger.ts';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { findTranscripts } from '../integration/transcript.ts';
import { loadCached } from '../integration/transcript-cache.ts';
import { meterTranscripts } from '../integration/transcript-meter.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { readFrom, statIfThere } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import type { AgentPorts } from './agent-call.ts';
import { readView } from './context.ts';
import { type Place, recordIn } from './here.ts';
import type { Outcome } from './record.ts';

export type Imported = {
  /** What was not counted before. */
  readonly added: readonly { readonly model: string; readonly usage: Usage }[];
  /** Files of agents whose hooks count them already. */
  readonly skipped: readonly string[];
  /** Is it forgotten which files were counted before? Then others than those must come together with them. */
  readonly isForgotten: boolean;
  /** Null where nothing was new. */
  readonly outcome: Outcome | null;
};

/**
 * Counts what agents' transcripts and event files say was used, once however often they are given: what was counted
 * stands in the epic, and only what is beyond it is added.
 */
export function importTranscripts(
  ports: AgentPorts,
  place: Place,
  files: readonly string[],
): Promise<Imported> {
  for (const file of files) {
    refuseMissing(file);
    refuseForeign(file);
  }
  // The epic's name may be longer than a file's, and one lock is not to be taken for another.
  const name = hash('sha256', place.epic).slice(0, 16);
  return withLock(ports, join(ports.home, 'locks', `import-${name}.lock`), async () => {
    const { state } = await readView(ports, place.epic);
    const recorded = readCurrent(state, 'imported') ?? {};
    const cache = join(ports.home, 'imports', `${name}.meter`);
    const isForgotten = Object.keys(recorded).length > 0 && loadCached(cache) === null;
    const skipped = files.filter((file) => isMetered(file, state));
    const { facts } = await meterTranscripts(ports, {
      cache,
      paths: files.filter((file) => !skipped.includes(file)).flatMap(findTranscripts),
      prices: (await ports.readConfig()).prices,
      recorded,
      before: {},
      // Whoever gives files gives them in any order, and an account may be in another than its conversation.
      isFollowed: false,
    });
    const added = facts
      .map(({ model, usage }) => ({ model, usage: subtractUsage(usage, lookUp(recorded, model) ?? noUsage) }))
      .filter(({ usage }) => Object.values(usage).some((amount) => (amount ?? 0) > 0));
    if (added.length === 0) return { added, skipped, isForgotten, outcome: null };
    return { added, skipped, isForgotten, outcome: await recordIn(ports, place, factsOf(added, recorded)) };
  });
}

/** In one record: what is added, and what was counted by now. */
function factsOf(added: Imported['added'], recorded: Keyed<Usage>): Fact[] {
  const more = Object.fromEntries(added.map(({ model, usage }) => [model, usage]));
  const counted = Object.entries(mergeKeyed(recorded, more, addUsage)).map(([model, usage]) => {
    const { estimated = 0, guessed = 0, settled = 0, corrected = 0 } = usage;
    return [model, { ...usage, estimated, guessed, settled, corrected }] as const;
  });
  return [
    ...added.map(({ model, usage }): Fact => ({ kind: 'cost', model, usage })),
    { kind: 'current_set', key: 'imported', value: Object.fromEntries(counted) },
  ];
}

function refuseMissing(file: string): void {
  if (statIfThere(file)?.isFile()) return;
  throw new OrchError('USAGE', `there is no file ${file}`, {
    hint: "Give an agent's transcripts, such as ~/.claude/projects/*/*.jsonl, or files of codex exec --json",
    data: { file },
  });
}

/** Is it of an agent that this epic's sessions metered by its hooks? */
function isMetered(file: string, state: State): boolean {
  const metered = readCurrent(state, 'meteredAgents') ?? [];
  const head = metered.length === 0 ? '' : (readFrom(file, 0, 4_096)?.bytes.toString('utf8') ?? '');
  return metered.some((id) => basename(file).includes(id) || head.includes(`"thread_id":"${id}"`));
}

/** As many of them as are worth remembering: what is imported is from lately. */
const mostMetered = 100;

/** Remembers that an agent's transcripts are counted by its hooks; nothing where that is known. */
export function meteredFacts(state: State, agentSessions: readonly string[]): Fact[] {
  const known = readCurrent(state, 'meteredAgents') ?? [];
  const fresh = agentSessions.filter((id) => !known.includes(id));
  if (fresh.length === 0) return [];
  return [{ kind: 'current_set', key: 'meteredAgents', value: [...known, ...fresh].slice(-mostMetered) }];
}

/** A transcript has said what it is long before this. */
const headBytes = 1024 * 1024;

/** A file in which no line is a message or an event of an agent holds nothing to count, and was given by mistake. */
function refuseForeign(file: string): void {
  const head = readFrom(file, 0, headBytes)?.bytes.toString('utf8') ?? '';
  if (head.split('\n').some(isAgentLine)) return;
  const what =
    head.trim() === '' ? 'is empty' : 'is not a transcript: no line in it is of Claude Code or Codex';
  throw new OrchError('USAGE', `${file} ${what}`, {
    hint: 'Transcripts are the .jsonl files below ~/.claude/projects and ~/.codex/sessions',
    data: { file },
  });
}

/** Agents write one object a line, and each says what it is. */
function isAgentLine(line: string): boolean {
  try {
    const { type, message, usage } = asFields(JSON.parse(line)) ?? {};
    return typeof type === 'string' || asFields(message) !== null || asFields(usage) !== null;
  } catch {
    return false; // no JSON, or a line that is cut
  }
}
