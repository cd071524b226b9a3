import { isCheckpointId, isOid } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import { type ChangedFile, readCurrent } from '../../state/current.ts';
import type { FileChange, List, State } from '../../state/lists.ts';
import { count } from '../../units.ts';
import { nameLeftOut } from '../document/document.ts';
import {
  type BriefCheckpoint,
  type BriefSubject,
  type DraftItem,
  formatFirst,
  type Gathered,
  type KeyedEntry,
  makeSingle,
  sortNewest,
} from './brief-items.ts';
import { codeText, plainText } from './brief-text.ts';

/** The files to read first: those with a priority, then the last changed, then those that were read. */
export function gatherReadFirst(state: State, most: number): Gathered {
  const gone = new Set(
    (readCurrent(state, 'changes')?.named ?? []).flatMap(({ path, change }) =>
      change === 'deleted' ? [path] : [],
    ),
  );
  const there = sortNewest(withUncommitted(state)).filter(
    ({ key, value }) => value.change !== 'deleted' && !gone.has(key),
  );
  const rank = ({ priority, change }: Readable) =>
    priority ?? (change === 'read' ? Number.POSITIVE_INFINITY : Number.MAX_VALUE);
  const sorted = there.sort((a, b) => (rank(a.value) === rank(b.value) ? 0 : rank(a.value) - rank(b.value)));
  const named = there.filter(({ value }) => value.priority !== null).length;
  // Only files with a priority count as left out; the others fill the space.
  return formatFirst(sorted.slice(0, Math.max(most, named)), most, ({ key, value }) => {
    const why = value.why === null ? '' : plainText(value.why, 80);
    return `${codeText(key, 160)}${why ? ` (${why})` : ''}`;
  });
}

type Readable = Pick<FileChange, 'change' | 'priority' | 'why'>;

/** Adds uncommitted files that only git reported: they were probably worked on last. */
function withUncommitted(state: State): List<Readable> {
  const changes = readCurrent(state, 'changes');
  const stamp = lookUp(state.current, 'changes')?.stamp;
  if (changes === null || stamp === undefined) return state.files;
  const untold = changes.named.filter(
    ({ path, state: where, change }) =>
      where !== 'committed' && change !== 'deleted' && !lookUp(state.files, path),
  );
  const value: Readable = { change: 'modified', priority: null, why: null };
  return { ...Object.fromEntries(untold.map(({ path }) => [path, { value, stamp }])), ...state.files };
}

/** How the code differs from where the epic began, by git; before that is known, by what was recorded. */
export function gatherChanged(state: State, most: number): Gathered {
  const changes = readCurrent(state, 'changes');
  if (changes === null) return gatherRecorded(state, Math.min(most, 6));
  const { files, added, removed, named } = changes;
  if (files === 0) return { items: [], leftOut: 0 };
  const by = lookUp(state.current, 'changes')?.stamp[1] ?? null;
  const shown = named.slice(0, most);
  const items = shown.map((file) => ({ key: file.path, text: describeFile(file), by }));
  const lead = `${count(files, 'file')}${formatLineCounts(Number(added), Number(removed))} since the epic began`;
  return { lead, items, leftOut: Math.max(0, files - shown.length) };
}

function describeFile({ path, change, added, removed, state }: ChangedFile): string {
  const said = change === 'deleted' ? change : state === 'committed' ? '' : state;
  const lines = formatLineCounts(Number(added ?? 0), Number(removed ?? 0));
  return `${codeText(path, 160)}${lines}${said ? ` (${plainText(said, 40)})` : ''}`;
}

/** How much was recorded as changed, and the newest few files. */
function gatherRecorded({ files }: State, most: number): Gathered {
  const changed = sortNewest(files).filter(({ value }) => value.change !== 'read');
  if (changed.length === 0) return { items: [], leftOut: 0 };
  const sum = (part: 'added' | 'removed') =>
    changed.reduce((total, { value }) => total + (value[part] ?? 0), 0);
  const lead = `${count(changed.length, 'file')}${formatLineCounts(sum('added'), sum('removed'))}`;
  return { lead, ...formatFirst(changed, most, describeChange) };
}

function describeChange({ key, value }: KeyedEntry<FileChange>): string {
  const how = value.change === 'modified' ? '' : ` ${value.change}`;
  return `${codeText(key, 160)}${how}${formatLineCounts(value.added ?? 0, value.removed ?? 0)}`;
}

function formatLineCounts(added: number, removed: number): string {
  return added + removed > 0 ? ` +${added} −${removed}` : '';
}

/** Is the code on disk still the code that was saved? */
export function gatherDisk({ checkpoint, disk }: BriefSubject): Gathered {
  if (disk === null || checkpoint === null || checkpoint.snapshot === null) return makeSingle(null);
  const { differing } = disk;
  if (differing === 0) return makeSingle(`as checkpoint ${checkpoint.seq} saved it`);
  const files = `${count(differing, 'file')} ${differing === 1 ? 'differs' : 'differ'}`;
  return makeSingle(`${files} from the snapshot of checkpoint ${checkpoint.seq}`);
}

/** Enough of an object's id to be unique in any repository. */
const shortOid = (oid: string) => oid.slice(0, 12);

/** Where the code is, and how to inspect or restore it. */
export function gatherCode({ epicId, state, checkpoint }: BriefSubject): Gathered {
  if (checkpoint === null) return makeSingle(null);
  const { branch, gitCommit, snapshot } = checkpoint;
  const name = nameCode(checkpoint);
  const texts: string[] = [];
  const missing = describeMissing(checkpoint);
  if (name !== null) {
    // A session's name stands for what the session did, not for what came after it.
    const what = snapshot === null ? 'what it changed' : 'what changed since it was saved';
    texts.push(`${what}: \`orch diff ${name} -e ${epicId}\``);
    texts.push(`a file as it was saved: \`orch restore ${name} -e ${epicId} -- <path>\``);
  } else if (gitCommit !== null) {
    texts.push(`what changed since the commit it stood on: \`git diff ${shortOid(gitCommit)}\``);
  }
  const green = readCurrent(state, 'lastGreen');
  // `current` may come from outside: only an id may become part of a command.
  if (
    green !== null &&
    green.id !== checkpoint.id &&
    isOid(green.tree) &&
    isCheckpointId(green.id) &&
    Number.isInteger(green.seq)
  ) {
    // Two machines may have used the same number for two checkpoints.
    texts.push(`last green, checkpoint ${green.seq}: \`orch diff ${green.id} -e ${epicId}\``);
  }
  if (gitCommit !== null) {
    const on = branch === null ? '' : ` on ${codeText(branch, 120)}`;
    const files = snapshot === null ? '' : `; its files are commit \`${shortOid(snapshot)}\``;
    texts.push(`it stood on commit \`${shortOid(gitCommit)}\`${on}${files}`);
  }
  const items = texts.map((text) => ({ key: null, text, by: null }));
  return { items: [...missing, ...items], leftOut: 0 };
}

/** What the checkpoint's snapshot lacks: it may still be on the disk where the checkpoint was made. */
function describeMissing(checkpoint: BriefCheckpoint): DraftItem[] {
  const { seq, snapshotFailed, writer = null } = checkpoint;
  const named = nameLeftOut(checkpoint, (path, reason) => `${codeText(path, 80)} (${plainText(reason, 40)})`);
  if (snapshotFailed !== undefined) {
    const why = plainText(snapshotFailed, 160);
    return [{ key: null, text: `checkpoint ${seq} was made without the code: ${why}`, by: writer }];
  }
  return named === null ? [] : [{ key: null, text: `not in checkpoint ${seq}: ${named}`, by: writer }];
}

/** A recovery has no files of its own: the last ones its session saved are meant. */
function nameCode({ seq, snapshot, trigger, sessionNumber }: BriefCheckpoint): string | null {
  if (snapshot !== null) return String(seq);
  return trigger === 'recovery' ? `s${sessionNumber}` : null;
}
