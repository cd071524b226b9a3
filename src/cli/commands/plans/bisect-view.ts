import type { BisectEvent, BisectResult, Evidence } from '../../../index.ts';
import { cutColumns, quoteForShell } from '../../../text.ts';
import { count } from '../../../units.ts';
import { flatten, type Output, showFacts } from '../../output.ts';
import { showTitle } from '../../views/checkpoint-view.ts';
import { formatDollars } from '../../views/money-view.ts';
import { formatClock, formatWhen } from '../../views/time-view.ts';

/** The lines for an event of the search; none if there is nothing to show. */
export function showEvent(out: Output, event: BisectEvent, epic: string): string[] {
  switch (event.kind) {
    case 'start': {
      const { checkpoints, good, bad, withoutCode, earlier } = event;
      const span = `${epic}: ${count(checkpoints, 'checkpoint')} from ckpt ${good.seq} to ckpt ${bad.seq}`;
      const skipped = withoutCode > 0 ? `, ${withoutCode} more without code` : '';
      const known = earlier > 0 ? `; ${earlier} known from an earlier call (--fresh tries them again)` : '';
      return [out.paint('dim', `${span}${skipped}${known}`)];
    }
    case 'worktree':
      return [out.paint('dim', `trying them in ${event.path}`)];
    case 'trying':
      return [];
    case 'tried': {
      const { number, about, checkpoint, verdict, why, durationMs } = event;
      const place = `${number} of about ${Math.max(number, about)}`;
      const words = { good: out.paint('green', '✓ good'), bad: out.paint('red', '✗ bad '), skip: '– skip' };
      const reason = verdict === 'good' || why === 'exit status 1' ? '' : `  ${out.paint('dim', why)}`;
      return [`${place}  ckpt ${checkpoint.seq}  ${words[verdict]}  ${formatTook(durationMs)}${reason}`];
    }
  }
}

/** `2.1 s`, `1m05s` */
function formatTook(duration: number): string {
  return duration < 60_000 ? `${(duration / 1_000).toFixed(1)} s` : formatClock(duration);
}

const shownLines = 10;

/** The end of what a command printed, indented. */
export function showTail(out: Output, output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines
    .slice(-shownLines)
    .map((line) => out.paint('dim', `    ${cutColumns(flatten(line), out.columns - 4)}`));
}

const shownFiles = 8;

/** What was found, for people. */
export function showAnswer(out: Output, result: BisectResult, now: number): string {
  const { firstBad, lastGood, session, asked, diff, costUsd, candidates, evidence } = result;
  const label = result.gate ?? quoteForShell(result.command ?? []);
  const head =
    result.status === 'found'
      ? `${showTitle(out, firstBad, '✗ ')}`
      : `One of these broke ${flatten(label)}:\n${candidates.map((each) => showTitle(out, each, '  ')).join('\n')}`;
  const lines = diff.additions + diff.deletions > 0 ? ` +${diff.additions} −${diff.deletions}` : '';
  const facts: [string, string | null][] = [
    [
      result.status === 'found' ? 'broke' : 'bad since',
      result.status === 'found' ? label : `ckpt ${firstBad.seq}`,
    ],
    ['saved', `${formatWhen(firstBad.timestamp, now)} (${firstBad.trigger})`],
    ['session', `s${session.number}${session.agent === null ? '' : `, ${session.agent}`}`],
    ['asked', asked],
    ['cost', costUsd > 0 ? `${formatDollars(costUsd)} since ckpt ${lastGood.seq}` : null],
    ['bad', describeEvidence(firstBad.seq, evidence.firstBad)],
    ['good', describeEvidence(lastGood.seq, evidence.lastGood)],
    ['changed', `${count(diff.files, 'file')}${lines} since ckpt ${lastGood.seq}`],
  ];
  const table = showFacts(
    out,
    facts.map(([name, value]) => [name, value && flatten(value)]),
  );
  const printed = showTail(out, evidence.firstBad.output);
  return [
    head,
    ...table.split('\n').map((line) => `  ${line}`),
    ...showFiles(out, diff.changed),
    ...(printed.length === 0 ? [] : [`  printed on ckpt ${firstBad.seq}`, ...printed]),
    showEffort(result),
    `See all of the change: ${diff.command}`,
  ].join('\n');
}

function showFiles(out: Output, changed: BisectResult['diff']['changed']): string[] {
  const marks = { added: 'A', modified: 'M', deleted: 'D' } as const;
  const lines = changed.slice(0, shownFiles).map(({ path, status, additions, deletions }) => {
    const amount = additions === null ? '' : `  +${additions} −${deletions ?? 0}`;
    return `    ${marks[status]} ${cutColumns(flatten(path), out.columns - 20)}${out.paint('dim', amount)}`;
  });
  const more = changed.length - shownFiles;
  return more > 0 ? [...lines, `    … and ${count(more, 'more file')}`] : lines;
}

function describeEvidence(seq: number, { from, why }: Evidence): string {
  const result = why === null ? '' : `, ${why}`;
  switch (from) {
    case 'record':
      return `ckpt ${seq}, as recorded by the gates`;
    case 'run':
      return `ckpt ${seq}, tried now${result}`;
    case 'earlier run':
      return `ckpt ${seq}, tried by an earlier call${result}`;
  }
}

/** `Found in 4 tries, 8.4 s; 1 skipped` */
function showEffort({ status, tries, skipped, elapsedMs }: BisectResult): string {
  const made = tries.filter(({ from }) => from === 'run').length;
  const found = status === 'found' ? 'Found' : 'Narrowed down';
  const without = skipped.length > 0 ? `; ${skipped.length} skipped` : '';
  const effort = made === 0 ? 'without a new try' : `in ${made === 1 ? '1 try' : `${made} tries`}`;
  return `${found} ${effort}, ${formatTook(elapsedMs)}${without}`;
}
