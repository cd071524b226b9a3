import { nameLeftOut } from '../../checkpoint/document/document.ts';
import { emptyRow } from '../../cost/ledger.ts';
import { correctableIn } from '../../cost/money.ts';
import { OrchError } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { refuseCorrection } from '../../record/budget-rules.ts';
import { refuseCostElsewhere } from '../../record/charge-above.ts';
import * as facts from '../../record/fact-builders.ts';
import { readView } from '../../record/view.ts';
import { locateFile } from '../../record/which/file-path.ts';
import { rememberEpic } from '../../record/which/last-used.ts';
import type { Destination } from '../../record/which/which-session.ts';
import type { SessionChanges } from '../../restore/session-changes.ts';
import { readCurrent } from '../../state/current.ts';
import type { Fact } from '../../state/facts.ts';
import type { FileChange, IssueUpdate } from '../../state/lists.ts';
import { realPath } from '../../system/disk.ts';
import { cleanLine, maxTextBytes } from '../../text.ts';
import type { EpicId, SessionId } from '../../types.ts';
import { recordTo } from '../calls.ts';
import { describeRecorded, type RecordedEntry } from '../recorded-entry.ts';

/** Something to record, as `orch record` and the MCP tools take it. */
export type Entry =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'decision'; readonly text: string; readonly rationale?: string | undefined }
  | { readonly kind: 'tried'; readonly text: string; readonly why?: string | undefined }
  /** With `resolved`, the text names an open blocker: its id, or a part of its text. */
  | { readonly kind: 'blocker'; readonly text: string; readonly resolved?: boolean }
  /** With an answer, the text names an open question in the same way. */
  | { readonly kind: 'question'; readonly text: string; readonly answer?: string | undefined }
  /** Without paths: every file that changed since the session began. */
  | {
      readonly kind: 'file';
      readonly paths: readonly string[];
      readonly change?: FileChange['change'] | undefined;
      readonly priority?: number | undefined;
      readonly why?: string | undefined;
    }
  | {
      readonly kind: 'issue';
      readonly id: string;
      readonly update: Partial<Pick<IssueUpdate, 'title' | 'status' | 'severity' | 'location'>>;
    }
  /** With `done`, an empty text means the current task. */
  | { readonly kind: 'task'; readonly text: string; readonly done?: boolean }
  | {
      readonly kind: 'test';
      readonly passed: number | null;
      readonly failed: number | null;
      readonly total: number | null;
      readonly failing: readonly string[];
    }
  | {
      readonly kind: 'cost';
      readonly usd: string | number;
      readonly details?: facts.CostDetails;
      /** An amount recorded by mistake, which `usd` replaces. */
      readonly correct?: string | undefined;
    };

type EntryPlace = {
  readonly epic: EpicId;
  readonly session: SessionId | null;
  readonly byAgent: boolean;
  /** The folder that paths are relative to. */
  readonly cwd: string;
};

/** Records an entry in the running session, or in that of the day's calls; `isCut` if a text was too long to keep. */
export async function recordEntry(
  orch: Orch,
  destination: Destination,
  entry: Entry,
  by: Pick<EntryPlace, 'byAgent' | 'cwd'>,
): Promise<RecordedEntry & { readonly isCut: boolean }> {
  const { epic } = destination;
  const session = destination.kind === 'running' ? destination.session : null;
  const facts = await makeFacts(orch, entry, { ...by, epic, session });
  if (facts.length === 0)
    throw new OrchError('USAGE', `no ${entry.kind} of ${epic} to record: nothing has changed`, {
      hint: `Name it: orch record ${entry.kind} PATH`,
    });
  await refuseCostElsewhere(orch, destination, facts);
  const outcome = await recordTo(orch, destination, facts);
  if (destination.kind === 'calls') await rememberEpic(orch, epic);
  return { ...describeRecorded(epic, outcome), isCut: facts.some(hasCutText) };
}

function hasCutText(value: unknown): boolean {
  return typeof value === 'string'
    ? Buffer.byteLength(value.trim()) > maxTextBytes
    : typeof value === 'object' && value !== null && Object.values(value).some(hasCutText);
}

/** Reads the epic's state only for kinds that need it, as that takes time. */
async function makeFacts(orch: Orch, entry: Entry, place: EntryPlace): Promise<readonly Fact[]> {
  const { random, clock } = orch;
  const { epic, byAgent } = place;
  const readState = async () => (await readView(orch, epic)).state;
  switch (entry.kind) {
    case 'note':
      return [facts.noteFact(random, entry.text)];
    case 'decision':
      return [facts.decisionFact(random, entry.text, entry.rationale ?? null)];
    case 'tried':
      return [facts.triedFact(random, entry.text, entry.why ?? null)];
    case 'blocker':
      return entry.resolved
        ? [facts.resolvedFact(await readState(), entry.text, clock.now())]
        : [facts.blockerFact(random, entry.text)];
    case 'question': {
      const { text, answer } = entry;
      if (answer === undefined) return [facts.questionFact(random, text)];
      return facts.answerFacts(random, await readState(), text, answer, { at: clock.now(), byAgent });
    }
    case 'file':
      return makeFileFacts(orch, entry, place);
    case 'issue':
      return [facts.issueFact(await readState(), entry.id, entry.update)];
    case 'task':
      return [facts.taskFact(entry.text || currentTask(entry, await readState()), entry.done === true)];
    case 'test':
      return [makeTestFact(entry)];
    case 'cost':
      return [
        entry.correct === undefined
          ? facts.costFact(entry.usd, entry.details)
          : await makeCorrection(orch, entry, place),
      ];
  }
}

type EntryOf<K extends Entry['kind']> = Extract<Entry, { kind: K }>;

async function makeFileFacts(
  orch: Orch,
  { paths, change, priority, why }: EntryOf<'file'>,
  { session, cwd }: EntryPlace,
): Promise<Fact[]> {
  const about = { priority: priority ?? null, why: why ?? null };
  if (paths.length > 0) {
    const folder = realPath(cwd);
    return paths.map((path) =>
      facts.fileFact(locateFile(path, folder, orch.repository.worktree), {
        ...(change && { change }),
        ...about,
      }),
    );
  }
  if (change !== undefined)
    throw new OrchError('USAGE', `--change ${change} needs the files it is about`, {
      hint: `Name them: orch record file PATH --change ${change}`,
    });
  const { listSessionChanges } = await import('../../restore/session-changes.ts');
  const { changes, leftOut } = await listSessionChanges(orch, session);
  if (changes.length === 0 && leftOut.length > 0) throw cannotCompare(leftOut);
  return changes.map(({ path, ...found }) => facts.fileFact(path, { ...found, ...about }));
}

/** Whether files that are in no snapshot have changed, only the caller knows. */
function cannotCompare(leftOut: SessionChanges['leftOut']): OrchError {
  const named = nameLeftOut({ leftOut: [...leftOut] }, (path, reason) => `${cleanLine(path)} (${reason})`);
  return new OrchError('USAGE', `no other file has changed, and these are not compared: ${named}`, {
    hint: 'If you changed one of them, name it: orch record file PATH',
    data: { leftOut },
  });
}

function currentTask({ done }: EntryOf<'task'>, state: Parameters<typeof readCurrent>[0]): string {
  const current = done ? readCurrent(state, 'currentTask') : null;
  if (done && current === null)
    throw new OrchError('USAGE', 'no task is in progress', {
      hint: 'Name the task that is done: orch record task "T3: redirect after login" --done',
    });
  return current?.text ?? '';
}

function makeTestFact({ passed, total, failing, ...entry }: EntryOf<'test'>): Fact {
  const failed = entry.failed ?? (failing.length > 0 ? failing.length : null);
  if (passed === null && failed === null && total === null)
    throw new OrchError('USAGE', 'no test results given', {
      hint: 'Try: orch record test --passed 142 --failed 0',
    });
  const all = total ?? (passed === null || failed === null ? null : passed + failed);
  const status = (failed ?? 0) > 0 ? 'failed' : 'passed';
  return facts.testFact({ status, passed, failed, total: all, failing, text: null });
}

async function makeCorrection(
  orch: Orch,
  { usd, details = {}, correct = '' }: EntryOf<'cost'>,
  { epic, byAgent }: EntryPlace,
): Promise<Fact> {
  if (Object.values(details).some(Boolean))
    throw new OrchError('USAGE', '--correct takes no model and no tokens', {
      hint: 'Only costs that were recorded without --model can be corrected: orch record cost RIGHT --correct WRONG',
    });
  const { state } = await readView(orch, epic);
  refuseCorrection(epic, state, { byAgent, home: orch.home });
  const row = lookUp(state.ledger, await orch.identifyWriter())?.value ?? emptyRow;
  return facts.correctionFact(usd, correct, correctableIn(row));
}
