import { OrchError } from '../../errors.ts';
import type { Checkpoint, Listing, LoadedCheckpoint, State, Verification } from '../../index.ts';
import { columnsOf, cutColumns } from '../../text.ts';
import type { EpicId, Millis } from '../../types.ts';
import { count } from '../../units.ts';
import { type Column, flatten, type Output, showFacts, showTable } from '../output.ts';
import { type Call, type OptionSpec, readText } from '../spec.ts';
import { formatDollars } from './money-view.ts';
import { formatWhen } from './time-view.ts';

type LeftOutFiles = readonly { readonly path: string; readonly reason: string }[];

/** The options of commands that list at most so many. */
export const limitOptions = (what = 'at most this many'): readonly OptionSpec[] => [
  { flags: '-n, --limit <n>', description: what, initial: '20' },
  { flags: '-a, --all', description: 'all of them' },
];

/** Reads --limit and --all. */
export function readLimit(call: Call): number {
  if (call.options.all) return Number.POSITIVE_INFINITY;
  const text = readText(call, 'limit') ?? '';
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--limit takes a whole number above 0, not ${JSON.stringify(text)}`, {
    hint: 'Try --limit 20, or --all',
  });
}

/** Paints the result of the gates in its own color. */
export function paintGates({ paint }: Output, text: string): string {
  return text === 'green' || text === 'red' ? paint(text, text) : text;
}

/** `ckpt 58 of feat-login: Login form done`, on one line. */
export function showTitle(out: Output, { seq, epicId, summary }: Checkpoint, mark = ''): string {
  const name = `ckpt ${seq} of ${epicId}`;
  const room = out.columns - columnsOf(`${mark}${name}: `);
  return `${out.paint('cyan', mark)}${out.paint('bold', name)}: ${cutColumns(flatten(summary), Math.max(8, room))}`;
}

/** Warns that a list is incomplete because of damage. */
export function printDamaged(out: Output, damaged: Listing['damaged']): void {
  if (damaged === null) return;
  out.inform(`orch: some checkpoints could not be read: ${damaged.message}`);
  out.inform('      See which: orch checkpoint verify');
}

/** Lists checkpoints, one per line. */
export function showList(
  out: Output,
  { epicId, checkpoints, total }: { epicId: EpicId; checkpoints: readonly Checkpoint[]; total: number },
  now: Millis,
): string {
  const rows = checkpoints.map((checkpoint) => [
    String(checkpoint.seq),
    `s${checkpoint.sessionNumber}`,
    formatWhen(checkpoint.timestamp, now),
    checkpoint.trigger,
    formatDollars(checkpoint.costUsd),
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
  const isCut = total > checkpoints.length && checkpoints.length > 0;
  return [
    out.paint('bold', epicId),
    showTable(out, header, rows, columns),
    ...(isCut ? [out.paint('dim', `… showing ${checkpoints.length}; for all: --all`)] : []),
  ].join('\n');
}

/** Shows a checkpoint in full. */
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
    ['cost', formatDollars(checkpoint.costUsd)],
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
  const sections = [
    showNotes(out, 'Blockers', state.blockers, ({ resolvedAt }) => resolvedAt === null),
    showNotes(out, 'Decisions', state.decisions),
    showNotes(out, 'Tried, failed', state.tried),
    showNotes(out, 'Open questions', state.questions, ({ resolvedAt }) => resolvedAt === null),
    showNotes(out, 'Notes', state.notes),
    ...(lost === null
      ? []
      : [`\n${out.paint('red', `Its code is lost in this clone: ${lost}. The record itself is intact.`)}`]),
    document.snapshotFailed === undefined ? '' : `\n${showNotSaved(out, checkpoint).join('')}`,
    showLeftOut(out, leftOut),
  ];
  const table = showFacts(out, facts, (value) => paintGates(out, value));
  const title = showTitle(out, checkpoint);
  return [title, '', table, ...sections.filter((section) => section !== '')].join('\n');
}

/** Shows which code is not in a checkpoint. Never cut: users must see every name before they need the file back. */
export function showNotSaved(out: Output, { notSaved }: Pick<Checkpoint, 'notSaved'>): string[] {
  return notSaved === null ? [] : [out.paint('yellow', `Not saved: ${flatten(notSaved)}`)];
}

/** Lists every file that was left out. */
function showLeftOut(out: Output, leftOut: LeftOutFiles): string {
  if (leftOut.length === 0) return '';
  const lines = leftOut.map(({ path, reason }) => `  ${flatten(path)} (${flatten(reason)})`);
  return `\n${out.paint('yellow', 'Not in the snapshot')}\n${lines.join('\n')}`;
}

/** Shows the newest ten of a list of texts. */
function showNotes<T extends { readonly text: string; readonly why?: string | null | undefined }>(
  out: Output,
  title: string,
  list: { readonly [id: string]: { readonly value: T; readonly stamp: State['notes'][string]['stamp'] } },
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

/** Was it written by a newer orch? Then it is not damaged. */
export function isNewer({ code }: { readonly code: string }): boolean {
  return code === 'FORMAT_UNSUPPORTED';
}

export function showVerification(out: Output, { checked, damaged, remarks }: Verification): string {
  if (damaged.length === 0) {
    const whole = `${out.paint('green', '✓')} ${count(checked, 'checkpoint')} read, none damaged`;
    return [whole, ...showRemarks(remarks)].join('\n');
  }
  const lines = damaged.map(({ epicId, id, commit, problem, code }) => {
    const mark = isNewer({ code }) ? out.paint('yellow', '! newer:') : out.paint('red', '✗ damaged:');
    return `${mark} ${epicId} ${id ?? commit.slice(0, 12)}\n  ${flatten(problem)}`;
  });
  return lines.join('\n');
}

/** Groups equal remarks: in a long history, one often applies to many checkpoints. */
function showRemarks(remarks: Verification['remarks']): string[] {
  const texts = [...new Set(remarks.map(({ remark }) => remark))];
  return texts.map((text) => {
    const of = remarks.filter(({ remark }) => remark === text);
    return `  ${count(of.length, 'checkpoint')}: ${text}`;
  });
}
