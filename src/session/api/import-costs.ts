import { basename, join } from 'node:path';
import { findTranscripts } from '../../agents/transcript/transcript.ts';
import { loadCached } from '../../agents/transcript/transcript-cache.ts';
import { meterTranscripts } from '../../agents/transcript/transcript-meter.ts';
import type { Checkpoint } from '../../checkpoint/list.ts';
import type { Budget } from '../../cost/budget.ts';
import { asFields } from '../../cost/json-fields.ts';
import { addUsage, noUsage, subtractUsage, type Usage } from '../../cost/ledger.ts';
import { estimateOf, moneyOf } from '../../cost/money.ts';
import { hash } from '../../digest.ts';
import { OrchError } from '../../errors.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { refuseCostElsewhere } from '../../record/charge-above.ts';
import type { Outcome } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import type { Destination } from '../../record/which/which-session.ts';
import { readCurrent } from '../../state/current.ts';
import type { Fact } from '../../state/facts.ts';
import type { State } from '../../state/lists.ts';
import { readFrom, statIfThere } from '../../system/disk.ts';
import { withLock } from '../../system/lock.ts';
import type { EpicId } from '../../types.ts';
import { toUsd } from '../../units.ts';
import { recordTo } from '../calls.ts';
import { describeMoney, describeUnpriced, type Unpriced } from '../epic-status.ts';
import { describeRecorded, type RecordedEntry } from '../recorded-entry.ts';

type Imported = {
  /** What was not counted before. */
  readonly added: readonly { readonly model: string; readonly usage: Usage }[];
  readonly skipped: readonly string[];
  readonly isForgotten: boolean;
  /** Null if nothing was new. */
  readonly outcome: Outcome | null;
};

/** Counts each message once, however often it is imported: the epic records what was counted. */
function importTranscripts(ports: Orch, place: Destination, files: readonly string[]): Promise<Imported> {
  for (const file of files) {
    refuseMissing(file);
    refuseForeign(file);
  }
  // An epic's name can be longer than a file name may be.
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
      // The files come in any order, and a conversation's summary may be in another file.
      isFollowed: false,
    });
    const added = facts
      .map(({ model, usage }) => ({ model, usage: subtractUsage(usage, lookUp(recorded, model) ?? noUsage) }))
      .filter(({ usage }) => Object.values(usage).some((amount) => (amount ?? 0) > 0));
    if (added.length === 0) return { added, skipped, isForgotten, outcome: null };
    return { added, skipped, isForgotten, outcome: await recordTo(ports, place, factsOf(added, recorded)) };
  });
}

/** Records what is added and the total counted so far together, so that neither exists without the other. */
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
  throw new OrchError('USAGE', `${file} is not a file`, {
    hint: "Pass an agent's transcripts, such as ~/.claude/projects/*/*.jsonl, or the output of codex exec --json",
    data: { file },
  });
}

/** Is it the transcript of an agent that this epic's hooks already count? */
function isMetered(file: string, state: State): boolean {
  const metered = readCurrent(state, 'meteredAgents') ?? [];
  const head = metered.length === 0 ? '' : (readFrom(file, 0, 4_096)?.bytes.toString('utf8') ?? '');
  return metered.some((id) => basename(file).includes(id) || head.includes(`"thread_id":"${id}"`));
}

/** The start of a transcript is enough to recognize it. */
const headBytes = 1024 * 1024;

/** A file without any message or event of an agent has nothing to count, and was passed by mistake. */
function refuseForeign(file: string): void {
  const head = readFrom(file, 0, headBytes)?.bytes.toString('utf8') ?? '';
  if (head.split('\n').some(isAgentLine)) return;
  const what = head.trim() === '' ? 'is empty' : 'is not a transcript of Claude Code or Codex';
  throw new OrchError('USAGE', `${file} ${what}`, {
    hint: 'Transcripts are the .jsonl files below ~/.claude/projects and ~/.codex/sessions',
    data: { file },
  });
}

/** Agents write one JSON object per line, with its type. */
function isAgentLine(line: string): boolean {
  try {
    const { type, message, usage } = asFields(JSON.parse(line)) ?? {};
    return typeof type === 'string' || asFields(message) !== null || asFields(usage) !== null;
  } catch {
    return false; // no JSON, or cut off
  }
}

type Tokens = Omit<Usage, 'micros' | 'guessed' | 'settled'>;

/** The costs that an import added. */
export type ImportedCosts = {
  readonly epicId: EpicId;
  /** What was not counted before. */
  readonly imported: readonly (Tokens & { readonly model: string; readonly costUsd: number })[];
  /** Files that their agents' hooks already count. */
  readonly skipped: readonly string[];
  readonly unpriced: readonly Unpriced[];
  readonly budget: Budget;
  readonly checkpoint: Checkpoint | null;
};

/** Adds the costs in agents' transcripts to an epic, each message once; `recorded` is null if nothing was new. */
export async function importCosts(
  orch: Orch,
  place: Destination,
  files: readonly string[],
): Promise<{
  readonly costs: ImportedCosts;
  /** The models whose costs are partly the agent's own figure, or an estimate. */
  readonly estimated: readonly string[];
  readonly recorded: RecordedEntry | null;
  /** Is it unknown which files were counted before? Then pass them again, together with new ones. */
  readonly isForgotten: boolean;
}> {
  await refuseCostElsewhere(orch, place, [{ kind: 'cost', model: null, usage: noUsage }]);
  const { added, skipped, isForgotten, outcome } = await importTranscripts(orch, place, files);
  const { prices } = await orch.readConfig();
  const state = outcome?.state ?? (await readView(orch, place.epic)).state;
  return {
    costs: {
      epicId: place.epic,
      imported: added.map(({ model, usage }) => {
        const { micros: _, guessed: __, settled: ___, ...tokens } = usage;
        return { model, costUsd: toUsd(moneyOf(model, usage)), ...tokens };
      }),
      skipped,
      unpriced: outcome ? describeUnpriced(state, prices) : [],
      budget: describeMoney(state),
      checkpoint: outcome?.stored?.checkpoint ?? null,
    },
    estimated: added.flatMap(({ model, usage }) => (estimateOf(usage) > 0 ? model : [])),
    recorded: outcome && describeRecorded(place.epic, outcome),
    isForgotten,
  };
}
