import { isWithin, type RestorePlan } from '../checkpoint/restore.ts';
import { showPath } from '../git/restore.ts';
import type { KeptUndo } from '../git/undo.ts';
import type { Restored } from '../session/restore.ts';
import type { RestoreSetting } from '../session/restore-facts.ts';
import type { Settled } from '../session/restore-interrupted.ts';
import type { Proposal } from '../session/restore-plan.ts';
import type { RestoreTarget } from '../session/restore-target.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { count } from '../units.ts';
import type { Output } from './output.ts';
import { describeTime } from './start-view.ts';

/** So many files are named; `--dry-run` names all. */
const mostNamed = 10;

const shortOid = (oid: string) => oid.slice(0, 7);

/** A file's name on one line, whatever is in it. */
function quoteName(path: string): string {
  return quoteText(showPath(path));
}

function quoteText(name: string): string {
  return cleanLine(name) === name ? name : JSON.stringify(name);
}

/** What would be restored, what that does, and what somebody should know first. */
export function showProposal(
  out: Output,
  proposal: Proposal,
  setting: RestoreSetting,
  around: { readonly name: string | null; readonly now: Millis; readonly namesAll: boolean },
): string[] {
  const { target, plan } = proposal;
  return [
    showSource(target, around.name, around.now),
    `  ${showCounts(plan)}`,
    ...showFiles(out, plan, around.namesAll ? Number.POSITIVE_INFINITY : mostNamed),
    ...showKept(plan, around.namesAll ? Number.POSITIVE_INFINITY : mostNamed),
    ...showLeftOut(proposal, around.namesAll ? Number.POSITIVE_INFINITY : mostNamed),
    ...showHead(target, setting),
    ...showOthers(out, setting),
  ];
}

const gateWords = {
  green: 'the gates ran on exactly this tree',
  red: 'the gates were red on exactly this tree',
  unknown: 'no gates ran on this tree',
} as const;

function showSource({ source, label }: RestoreTarget, name: string | null, now: Millis): string {
  if (source.kind === 'undo') return `${label}, ${describeTime(source.at, now)}`;
  const { seq, timestamp, gates } = source.checkpoint;
  const said = name === null || name === String(seq) ? label : `${name} is ${label}`;
  return `${said}, ${describeTime(Date.parse(timestamp), now)}; ${gateWords[gates]}`;
}

/** `11 modified, 3 deleted, 2 restored`. */
export function showCounts({ write, remove, comesBack }: RestorePlan): string {
  const changing = write.size - comesBack.size;
  const parts = [
    changing > 0 && `${changing} modified`,
    remove.size > 0 && `${remove.size} deleted`,
    comesBack.size > 0 && `${comesBack.size} restored`,
  ];
  return parts.filter(Boolean).join(', ') || 'nothing has to change';
}

function showFiles(out: Output, { write, remove, comesBack, save }: RestorePlan, most: number): string[] {
  const mark = (path: string) => (comesBack.has(path) ? 'A' : write.has(path) ? 'M' : 'D');
  const colours = { A: 'green', M: 'yellow', D: 'red' } as const;
  const paths = [...new Set([...write.keys(), ...remove])].sort();
  const lines = paths.slice(0, most).map((path) => {
    const note = save.has(path) ? ' (ignored; saved for the undo, in this clone only)' : '';
    return `    ${out.paint(colours[mark(path)], mark(path))} ${quoteName(path)}${note}`;
  });
  const more = paths.length - lines.length;
  return more > 0 ? [...lines, `    … and ${more} more: --dry-run names all`] : lines;
}

function showKept({ kept }: RestorePlan, most: number): string[] {
  if (kept.length === 0) return [];
  const lines = kept.slice(0, most).map(({ path, reason }) => `    ${quoteName(path)} (${reason})`);
  const more = kept.length - lines.length;
  const stays = `  ${count(kept.length, 'file')} ${kept.length === 1 ? 'stays' : 'stay'} as ${kept.length === 1 ? 'it is' : 'they are'}:`;
  return [stays, ...lines, ...(more > 0 ? [`    … and ${more} more: --dry-run names all`] : [])];
}

type LeftOut = { readonly path: string; readonly reason: string };

/** What is in neither tree, so that comparing them says nothing of it: it is not touched now, or was not saved then. */
function showLeftOut({ target, plan, present }: Proposal, most: number): string[] {
  const said = new Set(plan.kept.map(({ path }) => showPath(path)));
  const isUnsaid = ({ path }: LeftOut) => !said.has(path) && isMeant(target, path);
  const now = present.leftOut.filter(isUnsaid);
  const known = new Set(now.map(({ path }) => path));
  const then = target.leftOut.filter((one) => isUnsaid(one) && !known.has(one.path));
  const title = 'Not touched, because they could not be saved first';
  return [...listLeftOut(title, now, most), ...showNotSaved(target, then, most)];
}

/** What was on disk when a checkpoint was saved, and is in no snapshot. */
export function showNotSaved(target: RestoreTarget, files: readonly LeftOut[], most: number): string[] {
  const meant = files.filter(({ path }) => isMeant(target, path));
  return listLeftOut(`Not in the snapshot of ${target.label}, so they do not come back`, meant, most);
}

function isMeant({ scope }: RestoreTarget, path: string): boolean {
  return isWithin(path, scope?.map(showPath) ?? null);
}

function listLeftOut(title: string, files: readonly LeftOut[], most: number): string[] {
  if (files.length === 0) return [];
  const lines = files.map(({ path, reason }) => `    ${quoteText(path)} (${reason})`).sort();
  const more = lines.length > most ? [`    … and ${lines.length - most} more: --dry-run names all`] : [];
  return [`  ${title}:`, ...lines.slice(0, most), ...more];
}

/** Where HEAD is, how far it went since, and how it could be moved without losing a thing. */
export function showHead({ label }: RestoreTarget, { head, earlier }: RestoreSetting): string[] {
  if (head.commit === null) return ['  HEAD and index stay as they are.'];
  const stays = `  HEAD and index stay, HEAD at ${shortOid(head.commit)}`;
  if (earlier === null || earlier.commit === null) return [`${stays}.`];
  const branch =
    earlier.branch !== null && earlier.branch !== head.branch
      ? ` That was on ${quoteName(earlier.branch)}; this is ${head.branch === null ? 'no branch' : quoteName(head.branch)}.`
      : '';
  if (earlier.moved === null) return [`${stays}; the commit of ${label} is not here.${branch}`];
  const { gained, lost } = earlier.moved;
  if (gained === 0 && lost === 0) return [`${stays}, where it was.${branch}`];
  if (lost === 0) {
    const move = `To move ${head.branch === null ? 'it' : 'the branch'} too: git reset --soft ${shortOid(earlier.commit)}`;
    return [`${stays}, ${count(gained, 'commit')} after ${label}.${branch === '' ? ` ${move}` : branch}`];
  }
  const commit = shortOid(earlier.commit);
  if (gained === 0)
    return [`${stays}, ${count(lost, 'commit')} before that of ${label} (${commit}).${branch}`];
  return [
    `${stays}, which went another way than ${label}: ${count(gained, 'commit')} here, ${lost} there (${commit}).${branch}`,
  ];
}

function showOthers(out: Output, { workers, operation }: RestoreSetting): string[] {
  return [
    ...workers.map(({ name, pid }) =>
      out.paint(
        'yellow',
        `  ${cleanLine(name, 80)} (pid ${pid}) works here and will see files change under it.`,
      ),
    ),
    ...(operation === null
      ? []
      : [out.paint('yellow', `  A ${operation} is in progress, and stays so: only files change.`)]),
  ];
}

/** What becomes of a restore that was interrupted here. */
export function showInterrupted({ undo }: KeptUndo, { source }: RestoreTarget): string {
  const what = `Interrupted here before it was complete: ${undo.over}.`;
  if (source.kind === 'undo')
    return undo.undoes === null ? `${what} It is undone.` : `${what} It is done again.`;
  return `${what} It is completed or rolled back first.`;
}

/** What was done, and which checkpoints hold what was there. */
export function showDone({ settled, saved }: Restored): string[] {
  const first = settled.map(showSettled);
  if (saved === null) return [...first, 'Nothing more to do.'];
  return [
    ...first,
    `Restored. Your previous files are saved as checkpoint ${saved.seq}.`,
    'Undo: orch restore --undo',
  ];
}

function showSettled({ over, how, files, kept, saved, before }: Settled): string {
  if (how === 'completed')
    return `Interrupted earlier, but nothing was missing: ${over}. It counts as complete.`;
  return [
    `Rolled back, because it was interrupted: ${over} (${count(files.length, 'file')}).`,
    saved && `What it left is saved as checkpoint ${saved.seq}.`,
    before !== null && `What was there before it is checkpoint ${before}.`,
    kept.length > 0 &&
      `Changed since, and not touched: ${kept.slice(0, mostNamed).map(quoteText).join(', ')}${kept.length > mostNamed ? ' …' : ''}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
