import { isOn } from '../checkpoint/policy.ts';
import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Outcome } from '../record/record.ts';
import { type EpicView, readView } from '../record/view.ts';
import type { Destination } from '../record/which/which-session.ts';
import { recordTo } from '../session/calls.ts';
import { cleanLine } from '../text.ts';
import { formatInstant } from '../units.ts';
import { chooseTasks, findBatchNumber, listCompleted, nameBatches } from './batches.ts';
import { type CommittedWork, commitWork } from './commit-batch.ts';
import { type Difference, findDifferences, reportUnchanged } from './differences.ts';
import {
  findEvidence,
  findLateEvidence,
  findUnchanged,
  markTasks,
  readWork,
  shortenCommit,
  unchangedError,
} from './evidence.ts';
import { deferIssues, makeDeferredFacts, refuseSevere } from './issues.ts';
import {
  conflictError,
  isRecorded,
  makeProgressFacts,
  writeCheckpoint,
  writeTasks,
} from './progress-files.ts';
import type { SpecTask } from './read-spec.ts';
import {
  type BatchPorts,
  readCommitted,
  readSince,
  readSituation,
  type Situation,
  withSpecLock,
} from './situation.ts';
import type { DeferredIssue, FoundIssue } from './spec-checkpoint.ts';

export type CompleteOptions = {
  /** Task ids; the current batch by default. */
  readonly tasks?: readonly string[];
  /** What a review found: medium and low issues are deferred, critical and high ones block the batch. */
  readonly deferred?: readonly FoundIssue[];
  /** Complete even on another branch or history than the last batch, or without changes for its tasks. */
  readonly anyway?: boolean;
  /** Commit it on the user's branch: the tasks' files and what is staged, then the spec's files. */
  readonly commit?: boolean;
};

type CompleteRequest = CompleteOptions & {
  readonly folder: string;
  readonly deferred: readonly FoundIssue[];
};

export type Completed = {
  /** After the change. */
  readonly situation: Situation;
  readonly newly: readonly SpecTask[];
  readonly already: readonly string[];
  /** Completed here but not in HEAD's tasks.yaml: the tasks that the commit of the batch is about. */
  readonly uncommitted: readonly SpecTask[];
  /** The number of their batch. */
  readonly number: number;
  readonly deferred: readonly DeferredIssue[];
  readonly differences: readonly Difference[];
  /** The commit of the tasks' work, if this call made one. */
  readonly work: CommittedWork | null;
  /** Null if everything was recorded before. */
  readonly outcome: Outcome | null;
};

/** An attempt fails if another process writes one of the files at the same time. */
const maxAttempts = 5;

/**
 * Completes tasks of a spec: in tasks.yaml, then in checkpoint.yaml, then in the epic, with a checkpoint.
 *
 * Each follows from the one before it: if the call is killed at any point, repeating it finds what is completed in
 * tasks.yaml and does the rest, once. The epic is last, so that its snapshot contains both files and it never claims a
 * batch that the files do not have.
 */
export function completeBatch(
  ports: BatchPorts,
  place: Destination,
  folder: string,
  options: CompleteOptions,
): Promise<Completed> {
  return withSpecLock(ports, folder, async () => {
    const deferred = await Promise.all(
      (options.deferred ?? []).map(async (issue) => {
        return { ...issue, description: await ports.redact(issue.description) };
      }),
    );
    const view = await readView(ports, place.epic);
    const written = await writeFiles(ports, view, { ...options, folder, deferred });
    const outcome = await recordProgress(ports, place, view, written, deferred);
    return { ...written, outcome };
  });
}

type Written = Omit<Completed, 'outcome'>;

async function writeFiles(ports: BatchPorts, view: EpicView, request: CompleteRequest): Promise<Written> {
  const done = new Map<string, SpecTask>();
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const situation = await readSituation(ports, request.folder);
    const written = await tryWriteFiles(ports, view, request, situation);
    for (const task of written?.newly ?? []) done.set(task.id, task);
    if (written?.isComplete)
      return {
        ...written,
        newly: [...done.values()],
        already: written.already.filter((id) => !done.has(id)),
      };
  }
  throw conflictError(request.folder);
}

/** Returns null if another process has written tasks.yaml, and an incomplete result if it was checkpoint.yaml. */
async function tryWriteFiles(
  ports: BatchPorts,
  view: EpicView,
  request: CompleteRequest,
  situation: Situation,
): Promise<(Written & { readonly isComplete: boolean }) | null> {
  const committed = await readCommitted(ports, situation);
  const known = committed ?? listCompleted(situation.spec.tasks);
  const { newly: chosen, already } = chooseTasks(situation, known, request.tasks ?? null);
  const since = await readSince(ports, situation);
  const differences = findDifferences(situation, since);
  if (chosen.length > 0 && !request.anyway) refuseDifferences(differences);
  refuseSevere(request.deferred, view.state.issues, chosen.length > 0);
  const unchanged = chosen.length === 0 ? [] : await findUnchanged(ports, situation, since, chosen);
  if (chosen.length > 0 && unchanged.length === chosen.length && !request.anyway)
    throw unchangedError(situation, unchanged);
  const changed = chosen.filter((task) => !unchanged.includes(task));
  // A task that the user names, or confirms with --anyway, is completed even if nothing changed for it.
  const isLeftOpen = request.tasks === undefined && !request.anyway;
  const newly = isLeftOpen ? changed : chosen;
  const isCommitted = request.commit && changed.length > 0;
  // The spec's files name this commit, so it is made before they are written.
  const work = isCommitted ? await commitWork(ports, situation, changed) : null;
  const now = work ? { ...situation, head: { ...situation.head, commit: work.oid } } : situation;
  if (newly.length > 0) {
    const done = await readWork(ports, work ? await readSince(ports, now) : since);
    const evidenced = [...findEvidence(now, newly, done), ...findLateEvidence(now, since.commits)];
    if (!(await writeTasks(ports, now, evidenced))) return null;
  }
  const after = markTasks(now, newly, 'completed');
  const uncommitted = after.spec.tasks.filter(
    ({ id, status }) => status === 'completed' && committed !== null && !committed.has(id),
  );
  const about = [newly, uncommitted].find((tasks) => tasks.length > 0) ?? [];
  const number =
    Math.max(...about.map(({ id }) => findBatchNumber(after.batches, id)), 0) || after.position.lastBatch;
  const deferred = deferIssues(
    situation.checkpoint?.deferred ?? [],
    request.deferred,
    view.state.issues,
    number,
  );
  const isSame = isUpToDate(after, deferred);
  const isComplete = isSame || (await writeCheckpoint(ports, after, makeProgress(ports, after, deferred)));
  // A new checkpoint.yaml has the current branch, commit and tasks, so these no longer differ.
  const left = isSame
    ? differences
    : differences.filter(({ kind }) => ['base', 'drift', 'order'].includes(kind));
  const all = [...left, ...reportUnchanged(unchanged, isLeftOpen)];
  return {
    situation: after,
    newly,
    already,
    uncommitted,
    number,
    deferred,
    differences: all,
    work,
    isComplete,
  };
}

function refuseDifferences(differences: readonly Difference[]): void {
  const blocking = differences.filter(({ blocks }) => blocks);
  const [first] = blocking;
  if (first === undefined) return;
  throw new OrchError('USAGE', blocking.map(({ message }) => message).join('\n       '), {
    hint: `Nothing was changed. ${first.hint}`,
    data: { differs: blocking },
  });
}

/** Whether checkpoint.yaml has all of this. */
function isUpToDate({ checkpoint, spec, position }: Situation, deferred: readonly DeferredIssue[]): boolean {
  const done = listCompleted(spec.tasks);
  if (checkpoint === null) return done.size === 0 && deferred.length === 0;
  return (
    checkpoint.lastBatch === position.lastBatch &&
    checkpoint.deferred.length === deferred.length &&
    checkpoint.completed.length === done.size &&
    checkpoint.completed.every((id) => done.has(id))
  );
}

function makeProgress({ clock }: BatchPorts, situation: Situation, deferred: readonly DeferredIssue[]) {
  const { folder, spec, position, head, checkpoint } = situation;
  return {
    name: spec.name,
    folder,
    timestamp: formatInstant(clock.now()),
    checkpoint: {
      branch: head.branch,
      lastBatch: position.lastBatch,
      lastCommit: head.commit && shortenCommit(head.commit),
      deferred,
      reviewConfig: checkpoint?.reviewConfig ?? null,
      others: checkpoint?.others ?? {},
    },
    tasks: spec.tasks,
    next: position.batch,
  };
}

/** Records what is new for the epic, with a checkpoint; null if nothing is. */
async function recordProgress(
  ports: BatchPorts,
  place: Destination,
  view: EpicView,
  { situation, newly, uncommitted, deferred }: Written,
  found: readonly FoundIssue[],
): Promise<Outcome | null> {
  const { folder, spec, position } = situation;
  const progress = { folder, tasks: spec.tasks, position, deferred };
  const ids = new Set([...newly, ...uncommitted].map(({ id }) => id));
  const completed = spec.tasks.filter(({ id }) => ids.has(id));
  if (listCompleted(spec.tasks).size === 0 && deferred.length === 0) return null;
  const isKnown = isRecorded(view.state, progress);
  const isSaved = view.saved !== null && isRecorded(view.saved.document.state, progress);
  const isAsked = isOn(place.settings.policy, 'batch');
  if (isKnown && (isSaved || !isAsked)) return null;
  const facts = isKnown
    ? [] // in the journal of a session that was killed before its checkpoint
    : [...makeDeferredFacts(found, view.state.issues), ...makeProgressFacts(view.state, progress, completed)];
  // Tasks that only waited for their commit are already recorded.
  const unknown = completed.filter(({ id }) => lookUp(view.state.issues, id)?.value.status !== 'done');
  const about = [newly, unknown, completed].find((tasks) => tasks.length > 0) ?? [];
  const names = about.map(({ id, name }) => `${id} ${name}`).join(', ');
  const title = nameBatches(situation.batches, about);
  const reason = cleanLine(`Batch ${title}${names && ': '}${names}`, 400);
  return recordTo(ports, place, facts, isAsked ? { trigger: 'batch', reason } : null);
}
