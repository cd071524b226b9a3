import { hasCode } from '../errors.ts';
import { type CommitDraft, writeCommits } from '../git/append.ts';
import type { Commit, GitEngine, RefUpdate } from '../git/engine.ts';
import { listPath } from '../git/read.ts';
import { snapshotsPrefix } from '../git/snapshot-ref.ts';
import type { EpicId, Oid } from '../types.ts';
import { generateResumeBrief } from './brief/brief.ts';
import { formatDocument, sealDocument } from './document.ts';
import { parseMessage } from './message.ts';
import { readSaved } from './read.ts';
import { parseTrackedRef, remotesPrefix } from './remote-refs.ts';
import { listEpics, type StorePorts } from './tip.ts';
import { briefName, documentName, epicFolder, epicRef, parseDocumentName } from './tree.ts';

/** A longer history is not written again: an agent waits for it. */
const mostCheckpoints = 200;

/**
 * Gives an epic another name: its checkpoints say the new one from the first on, and its refs move in one step.
 * Returns what does it, or null where that is not possible: others may know it by its name, the new name is taken, or it
 * is not as this clone alone would have written it.
 */
export async function prepareRename(
  { git }: StorePorts,
  from: EpicId,
  to: EpicId,
): Promise<(() => Promise<void>) | null> {
  const tip = await git.readRef(epicRef(from));
  if (tip === null || (await isTaken(git, to)) || (await isShared(git, from))) return null;
  const commits: Commit[] = [];
  for await (const commit of git.walk(tip, mostCheckpoints + 1)) commits.unshift(commit);
  if (commits.length > mostCheckpoints || commits.some(({ parents }) => parents.length > 1)) return null;
  const drafts = await draftAgain(git, from, to, commits);
  return drafts && (() => carryOut(git, { from, to, tip }, drafts));
}

async function isTaken(git: GitEngine, epic: EpicId): Promise<boolean> {
  return (await listEpics(git)).some((other) => other.toLowerCase() === epic.toLowerCase());
}

async function isShared(git: GitEngine, epic: EpicId): Promise<boolean> {
  const tracked = [...(await git.listRefs(remotesPrefix)).keys()];
  return tracked.some((ref) => parseTrackedRef(ref) === epicRef(epic));
}

async function draftAgain(
  git: GitEngine,
  from: EpicId,
  to: EpicId,
  commits: readonly Commit[],
): Promise<CommitDraft[] | null> {
  const drafts: CommitDraft[] = [];
  let present: readonly string[] = [];
  for (const commit of commits) {
    const names = ((await listPath(git, commit.tree, epicFolder(from))) ?? []).map(({ name }) => name);
    // Whatever else is there (files of runs) may have the name inside.
    if (!names.every((name) => name === briefName || parseDocumentName(name) !== null)) return null;
    const draft = await draftOne(git, from, to, commit);
    if (draft === null) return null;
    const gone = present.filter((name) => !names.includes(name)).map((name) => [name, null] as const);
    drafts.push({ ...draft, edits: new Map([...gone, ...draft.edits]) });
    present = names;
  }
  return drafts;
}

async function draftOne(
  git: GitEngine,
  from: EpicId,
  to: EpicId,
  commit: Commit,
): Promise<CommitDraft | null> {
  const said = parseMessage(commit.message);
  if (said === null) return null;
  try {
    const { integrity: _, ...content } = (await readSaved(git, from, commit)).document;
    const document = sealDocument({ ...content, epicId: to });
    const checkpoint = { ...document, gates: said.gates };
    const brief = generateResumeBrief({ epicId: to, state: document.state, checkpoint });
    return {
      folder: epicFolder(to),
      edits: new Map([
        [documentName(document.id), formatDocument(document)],
        [briefName, Buffer.from(brief.markdown)],
      ]),
      message: commit.message.replace(`\nOrch-Epic: ${from}\n`, `\nOrch-Epic: ${to}\n`),
      authoredAt: commit.authoredAt,
      committedAt: commit.committedAt,
    };
  } catch (error) {
    if (hasCode(error, 'INTEGRITY', 'FORMAT_UNSUPPORTED')) return null;
    throw error;
  }
}

async function carryOut(
  git: GitEngine,
  { from, to, tip }: { readonly from: EpicId; readonly to: EpicId; readonly tip: Oid },
  drafts: readonly CommitDraft[],
): Promise<void> {
  const { commits, objects } = await writeCommits(git, { parents: [], base: null }, drafts);
  const snapshots = [...(await git.listRefs(`${snapshotsPrefix}${from}/`))];
  const moved = snapshots.flatMap(([ref, oid]): RefUpdate[] => [
    { ref: `${snapshotsPrefix}${to}/${ref.slice(`${snapshotsPrefix}${from}/`.length)}`, from: null, to: oid },
    { ref, from: oid, to: null },
  ]);
  // In one step: whoever looks finds the epic under one of its names, never under both.
  await git.moveRefs([
    { ref: epicRef(to), from: null, to: commits.at(-1) ?? tip },
    { ref: epicRef(from), from: tip, to: null },
    ...moved,
  ]);
  await git.keepObjects(objects);
}
