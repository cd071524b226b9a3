import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatInstant, formatSize } from '../units.ts';
import type { Cleanup } from '../upkeep/cleanup.ts';
import { isGone, nameThing } from '../upkeep/cleanup-describe.ts';
import type { Judgement } from '../upkeep/cleanup-plan.ts';
import { formatTable, type Output } from './output.ts';

export function showCleanup(out: Output, done: Cleanup, home: string): string {
  const { removed, kept, dryRun } = done;
  if (removed.length === 0) return `${out.paint('green', '✓')} Checked ${kept.length}, nothing to remove.`;
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
