import { resolve } from 'node:path';
import { OrchError, writeFailed } from '../../../errors.ts';
import { type CleanedUp, cleanUp } from '../../../index.ts';
import { writeAtomically } from '../../../system/disk.ts';
import { cleanLine } from '../../../text.ts';
import type { Millis } from '../../../types.ts';
import { formatInstant, formatSize } from '../../../units.ts';
import { formatTable, type Output } from '../../output.ts';
import { refuseUnwritable } from '../../result-file.ts';
import { answer, defineCommand } from '../../run-command.ts';
import { readText } from '../../spec.ts';

export const command = defineCommand({
  summary: 'remove what is past its retention',
  description:
    'Remove what is past its retention: snapshots of ended sessions, logs of failed ones, leftovers of crashes, and epics whose sessions all failed (to the trash first). Epics completed 30 days ago are archived. The newest snapshot of an epic, the last green one, and everything that ended less than a day ago always stay.',
  options: [
    { flags: '--dry-run', description: 'show what would be removed, and remove nothing' },
    {
      flags: '--max-age-days <n>',
      description: 'keep snapshots and failed sessions this long, instead of what the config says',
    },
    {
      flags: '--report <file>',
      description: 'also write a Markdown report of what was removed and kept, and why',
    },
  ],
  examples: ['orch cleanup --dry-run', 'orch cleanup --max-age-days 14 --report cleanup.md'],
  run: async (context, call) => {
    const days = readText(call, 'max-age-days');
    const report = readText(call, 'report');
    if (report !== undefined) refuseUnwritable(context.cwd, report, '--report');
    const dryRun = call.options['dry-run'] === true;
    const options = { dryRun, ...(days !== undefined && { maxAgeDays: parseDays(days) }) };
    await context.withOrch(async (orch) => {
      const done = await cleanUp(options, orch);
      answer(context, done, () => show(context.out, done));
      if (report === undefined) return;
      const text = writeReport(done, orch.clock.now());
      try {
        await writeAtomically(orch, resolve(context.cwd, report), Buffer.from(text));
      } catch (error) {
        throw writeFailed(`the report ${report} could not be written`, error);
      }
    });
  },
});

function parseDays(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new OrchError(
    'USAGE',
    `--max-age-days takes a whole number of days, not ${JSON.stringify(text.slice(0, 80))}`,
    { hint: 'Try --max-age-days 14' },
  );
}

function show(out: Output, done: CleanedUp): string {
  const { removed, archived, kept, dryRun } = done;
  if (removed.length + archived.length === 0)
    return `${out.paint('green', '✓')} Checked ${kept.length}, nothing to remove.`;
  const rows = [
    ...removed.map(({ kind, name, reason }) => [dryRun ? 'would remove' : 'removed', kind, name, reason]),
    ...archived.map((epic) => [dryRun ? 'would archive' : 'archived', 'epic', epic, 'completed long ago']),
  ];
  const dim = { paint: (text: string) => out.paint('dim', text) };
  return [
    formatTable(rows, [dim, {}, {}, dim], Math.max(out.columns, 100)),
    `${describeFreed(done)} Kept: ${kept.length}.`,
    ...(removed.some(({ kind }) => kind === 'epic')
      ? ['List the trash: git for-each-ref refs/orchestration-local/trash/']
      : []),
    ...(archived.length > 0 ? ['List archived epics: orch epic list --all'] : []),
    ...(dryRun ? ['Nothing was removed. To remove it: orch cleanup'] : []),
  ].join('\n');
}

/** `Freed: 12 KB in files, and about 3.4 MB in git objects, which git frees at its next gc.` */
function describeFreed({ bytes, gitBytes, dryRun }: CleanedUp): string {
  const files = `${dryRun ? 'Would free' : 'Freed'}: ${formatSize(bytes - (gitBytes ?? 0))} in files`;
  if (gitBytes === 0) return `${files}.`;
  const inGit = gitBytes === null ? 'more' : `about ${formatSize(gitBytes)}`;
  return `${files}, and ${inGit} in git objects, which git frees at its next gc.`;
}

/** The same as Markdown, for people who keep records. */
function writeReport(done: CleanedUp, now: Millis): string {
  const { removed, archived, kept, scanned, dryRun } = done;
  const table = (things: CleanedUp['kept']) => [
    '| what | name | why | bytes |',
    '|---|---|---|---:|',
    ...things.map(
      ({ kind, name, reason, bytes }) =>
        `| ${kind} | ${escapeCell(name)} | ${escapeCell(reason)} | ${bytes ?? ''} |`,
    ),
  ];
  const lines = [
    `# Cleanup of ${formatInstant(now)}${dryRun ? ' (dry run: nothing was removed)' : ''}`,
    '',
    `- scanned: ${scanned}`,
    `- ${dryRun ? 'would remove' : 'removed'}: ${removed.length}`,
    ...(archived.length > 0 ? [`- archived: ${archived.map(escapeCell).join(', ')}`] : []),
    `- kept: ${kept.length}`,
    `- ${describeFreed(done)}`,
    '',
    `## ${dryRun ? 'Would remove' : 'Removed'}`,
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
