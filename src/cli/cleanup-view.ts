import { relative } from 'node:path';
import { remotesPrefix } from '../checkpoint/remote-refs.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { count, formatInstant, formatSize } from '../units.ts';
import type { Cleanup } from '../upkeep/cleanup.ts';
import type { Judgement } from '../upkeep/cleanup-plan.ts';
import type { Thing } from '../upkeep/cleanup-types.ts';
import { formatTable, type Output } from './output.ts';

/** What a thing is called, and where it is. */
function nameThing(thing: Thing, home: string): { readonly kind: string; readonly name: string } {
  switch (thing.kind) {
    case 'snapshots':
      return { kind: 'snapshots', name: `${thing.epic} ${thing.session}${nameSide(thing.ref)}` };
    case 'epic':
    case 'completed':
      return { kind: 'epic', name: thing.epic };
    case 'trash':
      return { kind: 'trash', name: `${thing.epic}, deleted ${formatInstant(thing.at).slice(0, 10)}` };
    case 'undo':
      return {
        kind: 'undo',
        name: thing.worktree === null ? 'of the main worktree' : `of the worktree ${thing.worktree}`,
      };
    case 'run':
      return {
        kind: 'run',
        name: `${thing.epic} ${cleanLine(thing.plan, 100)}, ${thing.run}: ${count(thing.files, 'file')} in its tree`,
      };
    case 'trashed_journal':
      return { kind: 'trash', name: nameFile(thing.file.path, home) };
    case 'leftover':
      return { kind: 'leftover', name: `${nameFile(thing.file.path, home)} (${thing.what})` };
    default:
      return { kind: thing.kind, name: nameFile(thing.file.path, home) };
  }
}

/** A session's snapshots may be here twice: as they are, and as they were on a remote. */
function nameSide(ref: string): string {
  return ref.startsWith(remotesPrefix) ? ', as the remote has them' : '';
}

/** Below orch's own folder; a name there may be anybody's. */
function nameFile(path: string, home: string): string {
  return cleanLine(relative(home, path), 500);
}

/** Is it gone, rather than archived? */
function isGone({ thing }: Judgement): boolean {
  return thing.kind !== 'completed';
}

/** As scripts read it. */
export function describeCleanup(done: Cleanup, home: string) {
  const describe = ({ thing, why }: Judgement) => ({
    ...nameThing(thing, home),
    ...('ref' in thing && { ref: thing.ref }),
    ...('file' in thing && { path: thing.file.path }),
    reason: why,
    bytes: 'file' in thing ? thing.file.bytes : null,
  });
  return {
    scanned: done.scanned,
    removed: done.removed.filter(isGone).map(describe),
    archived: done.removed
      .filter((judged) => !isGone(judged))
      .map(({ thing }) => 'epic' in thing && thing.epic),
    kept: done.kept.map(describe),
    bytes: done.fileBytes + (done.gitBytes ?? 0),
    /** What git frees when it next collects garbage; null where it could not tell. */
    gitBytes: done.gitBytes,
    dryRun: done.dryRun,
  };
}

export function showCleanup(out: Output, done: Cleanup, home: string): string {
  const { removed, kept, dryRun } = done;
  if (removed.length === 0)
    return `${out.paint('green', '✓')} Nothing to clean up: ${count(kept.length, 'thing')} looked at, all ${kept.length === 1 ? 'is' : 'are'} to stay.`;
  const rows = removed.map(({ thing, why }) => {
    const { kind, name } = nameThing(thing, home);
    const verb = thing.kind === 'completed' ? 'archived' : 'removed';
    return [dryRun ? (verb === 'removed' ? 'would go' : 'would be archived') : verb, kind, name, why];
  });
  const dim = { paint: (text: string) => out.paint('dim', text) };
  return [
    formatTable(rows, [dim, {}, {}, dim], Math.max(out.columns, 100)),
    `${describeFreed(done)} Kept: ${kept.length}.`,
    ...(removed.some(({ thing }) => thing.kind === 'epic')
      ? ['What is in the trash is seen with: git for-each-ref refs/orchestration-local/trash/']
      : []),
    ...(removed.some((judged) => !isGone(judged))
      ? ['Archived epics are seen with: orch epic list --all']
      : []),
    ...(dryRun ? ['Nothing was removed. Do it with: orch cleanup'] : []),
  ].join('\n');
}

/** `12 KB in files, and about 3.4 MB once git collects garbage (git gc).` */
function describeFreed({ fileBytes, gitBytes, dryRun }: Cleanup): string {
  const verb = dryRun ? 'To be freed' : 'Freed';
  const files = `${verb}: ${formatSize(fileBytes)} in files`;
  if (gitBytes === 0) return `${files}.`;
  const inGit = gitBytes === null ? 'more' : `about ${formatSize(gitBytes)}`;
  return `${files}, and ${inGit} in git objects, which git frees with its next gc.`;
}

/** The same for people who keep a record: what was looked at, what went, what stayed, and why. */
export function writeReport(done: Cleanup, home: string, now: Millis): string {
  const { removed, kept, scanned, dryRun } = done;
  const table = (judged: readonly Judgement[]) => [
    '| what | name | why | bytes |',
    '|---|---|---|---:|',
    ...judged.map(({ thing, why }) => {
      const { kind, name } = nameThing(thing, home);
      return `| ${kind} | ${escapeCell(name)} | ${escapeCell(why)} | ${'file' in thing ? thing.file.bytes : ''} |`;
    }),
  ];
  const lines = [
    `# Cleanup of ${formatInstant(now)}${dryRun ? ' (dry run: nothing was removed)' : ''}`,
    '',
    `- scanned: ${scanned}`,
    `- ${dryRun ? 'would be removed' : 'removed'}: ${removed.length}`,
    `- kept: ${kept.length}`,
    `- ${describeFreed(done)}`,
    '',
    `## ${dryRun ? 'Would be removed' : 'Removed'}`,
    '',
    ...(removed.length > 0 ? table(removed) : ['Nothing.']),
    '',
    '## Kept',
    '',
    ...(kept.length > 0 ? table(kept) : ['Nothing.']),
  ];
  return `${lines.join('\n')}\n`;
}

function escapeCell(text: string): string {
  return cleanLine(text).replace(/[\\|`<*_[\]]/g, '\\$&');
}
