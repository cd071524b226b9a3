import { join } from 'node:path';
import { checkRunFiles, type RunFile } from '../checkpoint/document/run-files.ts';
import { describeCommit } from '../checkpoint/list.ts';
import { decide, type Verdict } from '../checkpoint/policy.ts';
import { readTipToSaveOn, type Stored, saveOn, withEpicLock } from '../checkpoint/store.ts';
import type { Tip } from '../checkpoint/tip.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { retryOnConflict } from '../git/refs/retry-on-conflict.ts';
import { type JournalFile, releaseFolded } from '../journal/pending.ts';
import { journalFolder } from '../journal/read.ts';
import { writeLatestCheckpoint } from '../orchestration-file/orchestration-file.ts';
import { readTextIfThere, writeUnsynced } from '../system/disk.ts';
import type { Millis, Trigger } from '../types.ts';
import { cleanSecretText } from './clean-facts.ts';
import { describeCode, type KeptTree } from './keep-code.ts';
import type { SessionPorts, Target } from './ports.ts';
import { type EpicView, viewFrom } from './view.ts';

/** A checkpoint that is made whatever the policy says. */
export type CheckpointRequest = {
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** The reason only says how the session began or ended: what happened makes a better title. */
  readonly isRoutine?: true | undefined;
  /** Skip it if nothing happened and no file changed since the last one. */
  readonly onlyIfChanged?: true;
  /** If it cannot be made now, the next call makes it: the record is safe in the journal. */
  readonly orLater?: true;
  /** Files that an unfinished run needs, to be added to the checkpoint's tree. */
  readonly runFiles?: readonly RunFile[];
};

/** Why a checkpoint is made now; null if none is. A used-up budget takes precedence over any request. */
export function chooseCause(due: Verdict['checkpoint'], request: CheckpointRequest | null) {
  return due?.trigger === 'budget' ? due : (request ?? due);
}

type ToSave = {
  readonly view: EpicView;
  readonly request: CheckpointRequest | null;
  readonly kept: KeptTree;
  readonly durable: Promise<void>;
};

/**
 * Saves what the journals hold beyond the newest checkpoint. On a conflict, retries on the checkpoint that another
 * process made, and returns that one if the policy calls for no more.
 */
export async function save(ports: SessionPorts, target: Target, toSave: ToSave): Promise<Stored | null> {
  const { epic, settings } = target;
  const { request } = toSave;
  const same = await draftSame(ports, target, toSave);
  try {
    const saved = await withEpicLock(ports, epic, () =>
      retryOnConflict(ports, async () => {
        const tip = await readTipToSaveOn(ports, epic);
        const view = viewFrom(ports, epic, tip);
        const now = ports.clock.now();
        const why = chooseCause(decide(settings.policy, view, now).checkpoint, request);
        if (why === null) return { stored: describeSaved(tip), journals: null };
        const { pending: events, sessionsWithJournal: journals } = view;
        const draft = { ...same, ...(await draftCause(ports, why)), events, journals, at: now };
        return { stored: await saveOn(ports, epic, tip, draft), journals: view.journals };
      }),
    );
    if (saved.stored && saved.journals) await cleanUp(ports, saved.stored, saved.journals);
    return saved.stored;
  } catch (error) {
    throw systemCode(error) ? writeFailed('the checkpoint could not be written', error) : error;
  }
}

/** The part of the draft that is the same on every tip. */
async function draftSame(ports: SessionPorts, target: Target, { view, request, kept, durable }: ToSave) {
  const { session, settings } = target;
  const runFiles = request?.runFiles ?? [];
  checkRunFiles(runFiles);
  const own = view.journals.find((journal) => journal.session === session);
  const writer = own?.header.writer ?? (await ports.identifyWriter());
  const { commit, branch } = await ports.git.readHead();
  const head = { commit, branch: branch && (await ports.redact(branch)) };
  const code = await describeCode(ports, session, view.tip.state, kept, head);
  return { sessionId: session, writer, keep: settings.keep, head, code, ...kept, runFiles, durable };
}

async function draftCause(
  ports: SessionPorts,
  why: Pick<CheckpointRequest, 'trigger' | 'reason' | 'isRoutine'>,
) {
  const { trigger, reason, isRoutine } = why;
  return { trigger, isRoutine, reason: reason === null ? null : await cleanSecretText(reason, ports.redact) };
}

/** The checkpoint that another process made first: it includes what was recorded here. */
function describeSaved(tip: Tip): Stored | null {
  const checkpoint = tip.saved && describeCommit(tip.saved.commit);
  return tip.saved && checkpoint ? { checkpoint, document: tip.saved.document, base: tip } : null;
}

/** Does what can wait until the checkpoint is durable; a failure here does not affect the checkpoint. */
async function cleanUp(ports: SessionPorts, stored: Stored, journals: readonly JournalFile[]): Promise<void> {
  await writeLatestCheckpoint(ports, stored);
  try {
    releaseFolded(ports, journalFolder(ports.home), stored.base.state, journals);
    await tidyNowAndThen(ports);
  } catch (error) {
    ports.report(`upkeep failed: ${error instanceof Error ? error.message : error}`);
  }
}

/** How often git packs what orch wrote; more often if that is a lot. */
const tidyInterval: Millis = 3_600_000;
const tidyIntervalOfMany: Millis = 30_000;
/** Git's own limit is 6,700 loose objects, but git does not count the ones orch writes. */
const manyLoose = 4_000;

async function tidyNowAndThen({ disk, clock, git, home }: SessionPorts): Promise<void> {
  const stamp = join(home, 'tidied');
  const last = readTextIfThere(stamp);
  const now = clock.now();
  const since = last === null ? Number.POSITIVE_INFINITY : Math.abs(now - Number(last));
  if (since < tidyIntervalOfMany) return;
  const isMuch = git.estimateLoose() >= manyLoose;
  if (since < tidyInterval && !isMuch) return;
  writeUnsynced(disk, stamp, String(now));
  if (last !== null || isMuch) await git.packLooseObjects();
}
