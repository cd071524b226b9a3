import { OrchError } from '../errors.ts';
import type { Checkpoint, LoadedCheckpoint, Verification } from '../index.ts';
import type { Attempt, List } from '../state/lists.ts';
import { columnsOf, cutColumns } from '../text.ts';
import type { EpicId, Millis } from '../types.ts';
import { count, formatAge } from '../units.ts';
import { type Column, flatten, formatTable, type Output } from './output.ts';

type LeftOutFiles = readonly { readonly path: string; readonly reason: string }[];

/** How many of a list are wanted. */
export function parseLimit(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--limit takes a whole number from 1 up, not ${JSON.stringify(text)}`, {
    hint: 'Try --limit 20, or --all',
  });
}

function paintGates({ paint }: Output, text: string): string {
  return text === 'green' || text === 'red' ? paint(text, text) : text;
}

/** `ckpt 58 of feat-login: Login form done`, on one line. */
export function showTitle(out: Output, { seq, epicId, summary }: Checkpoint, mark = ''): string {
  const name = `ckpt ${seq} of ${epicId}`;
  const room = out.columns - columnsOf(`${mark}${name}: `);
  return `${out.paint('cyan', mark)}${out.paint('bold', name)}: ${cutColumns(flatten(summary), Math.max(8, room))}`;
}

/** A line a checkpoint, cut to the width of the terminal. */
export function showList(
  out: Output,
  { epicId, checkpoints, total }: { epicId: EpicId; checkpoints: readonly Checkpoint[]; total: number },
  now: Millis,
): string {
  const rows = checkpoints.map((checkpoint) => [
    String(checkpoint.seq),
    `s${checkpoint.sessionNumber}`,
    `${formatAge(Math.max(0, now - Date.parse(checkpoint.timestamp)))} ago`.replace('now ago', 'now'),
    checkpoint.trigger,
    `$${checkpoint.costUsd.toFixed(2)}`,
    checkpoint.gates === 'unknown' ? '–' : checkpoint.gates,
    checkpoint.summary,
  ]);
  const header = ['#', 'SESS', 'AGE', 'TRIGGER', 'COST', 'GATES', 'SUMMARY'];
  const columns: Column[] = [
    { align: 'right' },
    {},
    { align: 'right' },
    {},
    { align: 'right' },
    { paint: (text) => paintGates(out, text) },
    {},
  ];
  const table = formatTable([header, ...rows], columns, out.columns);
  const [head = '', ...lines] = table.split('\n');
  const more =
    total > checkpoints.length && checkpoints.length > 0 ? `\n… ${checkpoints.length} shown; all: --all` : '';
  return `${out.paint('bold', epicId)}\n${out.paint('dim', head)}\n${lines.join('\n')}${out.paint('dim', more)}`;
}

/** A checkpoint as a person reads it. */
export function showCheckpoint(
  out: Output,
  { checkpoint, document }: LoadedCheckpoint,
  lost: string | null,
  leftOut: LeftOutFiles,
): string {
  const { state } = document;
  const facts: [string, string | null][] = [
    ['checkpoint', `${checkpoint.id} (${checkpoint.trigger})`],
    ['session', `${checkpoint.sessionId}, number ${checkpoint.sessionNumber}`],
    ['time', checkpoint.timestamp],
    ['cost', `$${checkpoint.costUsd.toFixed(2)}`],
    ['gates', checkpoint.gates === 'unknown' ? '–' : checkpoint.gates],
    [
      'head',
      document.gitCommit &&
        `${document.gitCommit.slice(0, 12)}${document.branch ? ` (${document.branch})` : ''}`,
    ],
    ['commit', checkpoint.commit.slice(0, 12)],
    ['snapshot', checkpoint.snapshot?.slice(0, 12) ?? null],
    ['events', document.events.length > 0 ? String(document.events.length) : null],
    [
      'rebuilt',
      document.rebuiltOver ? `over ${count(document.rebuiltOver.length, 'damaged checkpoint')}` : null,
    ],
  ];
  const rows = facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  const sections = [
    showNotes(out, 'Blockers', state.blockers, ({ resolvedAt }) => resolvedAt === null),
    showNotes(out, 'Decisions', state.decisions),
    showNotes(out, 'Tried, failed', state.tried),
    showNotes(out, 'Open questions', state.questions, ({ resolvedAt }) => resolvedAt === null),
    showNotes(out, 'Notes', state.notes),
    ...(lost === null
      ? []
      : [`\n${out.paint('red', `Its code is lost here: ${lost}. The record itself is whole.`)}`]),
    document.snapshotFailed === undefined ? '' : `\n${showNotSaved(out, checkpoint).join('')}`,
    showLeftOut(out, leftOut),
  ];
  const columns = [
    { paint: (text: string) => out.paint('dim', text) },
    { paint: (text: string) => paintGates(out, text) },
  ];
  const table = formatTable(rows, columns, out.columns);
  const title = showTitle(out, checkpoint);
  return [title, '', table, ...sections.filter((section) => section !== '')].join('\n');
}

/** What of the code is not in a checkpoint. Never cut: nobody should learn its name when they want it back. */
export function showNotSaved(out: Output, { notSaved }: Pick<Checkpoint, 'notSaved'>): string[] {
  return notSaved === null ? [] : [out.paint('yellow', `Not saved: ${flatten(notSaved)}`)];
}

/** All files that were left out, a line each. */
function showLeftOut(out: Output, leftOut: LeftOutFiles): string {
  if (leftOut.length === 0) return '';
  const lines = leftOut.map(({ path, reason }) => `  ${flatten(path)} (${flatten(reason)})`);
  return `\n${out.paint('yellow', 'Not in the snapshot')}\n${lines.join('\n')}`;
}

/** The newest few of a list of texts. */
function showNotes<T extends Pick<Attempt, 'text' | 'why'>>(
  out: Output,
  title: string,
  list: List<T>,
  isShown: (note: T) => boolean = () => true,
): string {
  const shown = Object.values(list).filter(({ value }) => isShown(value));
  if (shown.length === 0) return '';
  const newest = shown.sort((a, b) => b.stamp[0] - a.stamp[0]).slice(0, 10);
  const lines = newest.map(({ value: { text, why } }) => {
    const line = why ? `${flatten(text)} (${flatten(why)})` : flatten(text);
    return `  ${cutColumns(line, out.columns - 2)}`;
  });
  return `\n${out.paint('bold', title)}\n${lines.join('\n')}`;
}

/** Is it of a later orch? Then nothing is wrong with it. */
export function isNewer({ code }: { readonly code: string }): boolean {
  return code === 'FORMAT_UNSUPPORTED';
}

export function showVerification(out: Output, { checked, damaged, remarks }: Verification): string {
  if (damaged.length === 0) {
    const whole = `${out.paint('green', '✓')} ${count(checked, 'checkpoint')} read, all as they were written`;
    return [whole, ...showRemarks(remarks)].join('\n');
  }
  const lines = damaged.map(({ epicId, id, commit, problem, code }) => {
    const mark = isNewer({ code }) ? out.paint('yellow', '! newer:') : out.paint('red', '✗ damaged:');
    return `${mark} ${epicId} ${id ?? commit.slice(0, 12)}\n  ${flatten(problem)}`;
  });
  return lines.join('\n');
}

/** How many each remark is true of: a long history says the same of many. */
function showRemarks(remarks: Verification['remarks']): string[] {
  const texts = [...new Set(remarks.map(({ remark }) => remark))];
  return texts.map((text) => {
    const of = remarks.filter(({ remark }) => remark === text);
    return `  ${count(of.length, 'checkpoint')}: ${text}`;
  });
}
