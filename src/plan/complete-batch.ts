import { isOn } from '../checkpoint/policy.ts';
import { OrchError } from '../errors.ts';
import type { SpecTask } from '../integration/spec.ts';
import type { DeferredIssue, FoundIssue } from '../integration/spec-checkpoint.ts';
import { lookUp } from '../keyed.ts';
import { type EpicView, readView } from '../session/context.ts';
import { type Place, recordIn } from '../session/here.ts';
import type { Outcome } from '../session/record.ts';
import { cleanLine } from '../text.ts';
import type { Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import { withSpec } from './batch.ts';
import { chooseTasks } from './batch-choice.ts';
import { type Difference, findDifferences, findUnchanged } from './batch-differences.ts';
import { findLateProofs, findProofs, markTasks, shortenCommit } from './batch-evidence.ts';
import { writeCheckpoint, writeTasks } from './batch-files.ts';
import { carryIssues, recordDeferred, refuseSevere } from './batch-issues.ts';
import { describeProgress, isRecorded } from './batch-record.ts';
import { readSince } from './batch-since.ts';
import { type BatchPorts, readCommitted, readSituation, type Situation } from './batch-situation.ts';
import { findUndone, nothingChanged, readWork } from './batch-work.ts';
import { batchOf, completedOf, nameBatches } from './batches.ts';

export type CompleteRequest = {
  readonly folder: string;
  /** Null: the current batch. */
  readonly tasks: readonly string[] | null;
  readonly found: readonly FoundIssue[];
  /** Although the branch or the commit is another than that of the last batch, or nothing changed for its tasks. */
  readonly anyway: boolean;
  /** Commits what is not committed of the tasks' work, so that they can name the commit; null where there is nothing. */
  readonly commitWork:
    | ((situation: Situation, tasks: readonly SpecTask[]) => Promise<CommittedWork | null>)
    | null;
};

export type CommittedWork = {
  readonly oid: Oid;
  /** What no task named, and is in it because it is staged. */
  readonly staged: readonly string[];
};

export type Completed = {
  /** As it is now. */
  readonly situation: Situation;
  readonly newly: readonly SpecTask[];
  readonly already: readonly string[];
  /** Completed, and not in the tasks.yaml of HEAD: what a commit of the batch is about. */
  readonly uncommitted: readonly SpecTask[];
  /** The batch they are of. */
  readonly number: number;
  readonly deferred: readonly DeferredIssue[];
  readonly differences: readonly Difference[];
  /** The commit of the tasks' work, where this call made one. */
  readonly work: CommittedWork | null;
  /** Null where all had been recorded before. */
  readonly outcome: Outcome | null;
};

/** Each time, another process wrote one of the files while it was being replaced. */
const mostAttempts = 5;

/**
 * Completes tasks of a spec: in tasks.yaml, then in checkpoint.yaml, then in the epic, with a checkpoint.
 *
 * In this order, because each can be made from the one before it: after a death at any point the same call finds what
 * is completed in tasks.yaml, and does what is missing behind it, once. The epic is last, so that its snapshot holds
 * both files. The other way round it would vouch for a batch that the files know nothing of.
 */
export function completeBatch(ports: BatchPorts, place: Place, request: CompleteRequest): Promise<Completed> {
  return withSpec(ports, request.folder, async () => {
    const found = await Promise.all(
      request.found.map(async (issue) => ({ ...issue, description: await ports.redact(issue.description) })),
    );
    const view = await readView(ports, place.epic);
    const written = await writeFiles(ports, view, { ...request, found });
    const outcome = await recordProgress(ports, place, view, written, found);
    return { ...written, outcome };
  });
}

type Written = Omit<Completed, 'outcome'>;

async function writeFiles(ports: BatchPorts, view: EpicView, request: CompleteRequest): Promise<Written> {
  const done = new Map<string, SpecTask>();
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const situation = await readSituation(ports, request.folder);
    const written = await tryToWrite(ports, view, request, situation);
    for (const task of written?.newly ?? []) done.set(task.id, task);
    if (written?.isWhole)
      return {
        ...written,
        newly: [...done.values()],
        already: written.already.filter((id) => !done.has(id)),
      };
  }
  throw new OrchError('REF_CONFLICT', `others keep writing the files of ${request.folder}`, {
    hint: 'Nothing of theirs was overwritten. Run the same command again in a moment.',
  });
}

/** Null where another process wrote tasks.yaml meanwhile; not whole where it was checkpoint.yaml. */
async function tryToWrite(
  ports: BatchPorts,
  view: EpicView,
  request: CompleteRequest,
  situation: Situation,
): Promise<(Written & { readonly isWhole: boolean }) | null> {
  const committed = await readCommitted(ports, situation);
  const known = committed ?? completedOf(situation.spec.tasks);
  const { newly: chosen, already } = chooseTasks(situation, known, request.tasks);
  const since = await readSince(ports, situation);
  const differences = findDifferences(situation, since);
  if (chosen.length > 0 && !request.anyway) refuseDifferences(differences);
  refuseSevere(request.found, view.state.issues, chosen.length > 0);
  const idle = chosen.length === 0 ? [] : await findUndone(ports, situation, since, chosen);
  if (chosen.length > 0 && idle.length === chosen.length && !request.anyway)
    throw nothingChanged(situation, idle);
  const worked = chosen.filter((task) => !idle.includes(task));
  // Whoever names a task, or insists, says that it is done.
  const isLeft = request.tasks === null && !request.anyway;
  const newly = isLeft ? worked : chosen;
  const work = worked.length === 0 ? null : ((await request.commitWork?.(situation, worked)) ?? null);
  const now = work ? { ...situation, head: { ...situation.head, commit: work.oid } } : situation;
  if (newly.length > 0) {
    const done = await readWork(ports, work ? await readSince(ports, now) : since);
    const proofs = [...findProofs(now, newly, done), ...findLateProofs(now, since.commits)];
    if (!(await writeTasks(ports, now, proofs))) return null;
  }
  const after = markTasks(now, newly, 'completed');
  const uncommitted = after.spec.tasks.filter(
    ({ id, status }) => status === 'completed' && committed !== null && !committed.has(id),
  );
  const about = [newly, uncommitted].find((tasks) => tasks.length > 0) ?? [];
  const number =
    Math.max(...about.map(({ id }) => batchOf(after.batches, id)), 0) || after.position.lastBatch;
  const deferred = carryIssues(
    situation.checkpoint?.deferred ?? [],
    request.found,
    view.state.issues,
    number,
  );
  const isSame = isUpToDate(after, deferred);
  const isWhole = isSame || (await writeCheckpoint(ports, after, makeProgress(ports, after, deferred)));
  // Of branch, commit and tasks a new checkpoint.yaml says what is now.
  const left = isSame
    ? differences
    : differences.filter(({ kind }) => ['base', 'drift', 'order'].includes(kind));
  const all = [...left, ...findUnchanged(idle, isLeft)];
  return { situation: after, newly, already, uncommitted, number, deferred, differences: all, work, isWhole };
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

/** Does checkpoint.yaml say all this already? */
function isUpToDate({ checkpoint, spec, position }: Situation, deferred: readonly DeferredIssue[]): boolean {
  const done = completedOf(spec.tasks);
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

/** Records what the epic does not know yet, with a checkpoint; null where it knows all of it. */
async function recordProgress(
  ports: BatchPorts,
  place: Place,
  view: EpicView,
  { situation, newly, uncommitted, deferred }: Written,
  found: readonly FoundIssue[],
): Promise<Outcome | null> {
  const { folder, spec, position } = situation;
  const progress = { folder, tasks: spec.tasks, position, deferred };
  const ids = new Set([...newly, ...uncommitted].map(({ id }) => id));
  const completed = spec.tasks.filter(({ id }) => ids.has(id));
  if (completedOf(spec.tasks).size === 0 && deferred.length === 0) return null;
  const isKnown = isRecorded(view.state, progress);
  const isSaved = view.saved !== null && isRecorded(view.saved.document.state, progress);
  const isAsked = isOn(place.settings.policy, 'batch');
  if (isKnown && (isSaved || !isAsked)) return null;
  const facts = isKnown
    ? [] // in a journal, whose session died before its checkpoint
    : [...recordDeferred(found, view.state.issues), ...describeProgress(view.state, progress, completed)];
  // Of what waited to be committed, the epic knows already.
  const unknown = completed.filter(({ id }) => lookUp(view.state.issues, id)?.value.status !== 'done');
  const about = [newly, unknown, completed].find((tasks) => tasks.length > 0) ?? [];
  const names = about.map(({ id, name }) => `${id} ${name}`).join(', ');
  const title = nameBatches(situation.batches, about);
  const reason = cleanLine(`Batch ${title}${names && ': '}${names}`, 400);
  return recordIn(ports, place, facts, isAsked ? { trigger: 'batch', reason } : null);
}
