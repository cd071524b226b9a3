import type { RestorePreview, RestoreResult } from '../../index.ts';
import { cleanLine } from '../../text.ts';
import { count } from '../../units.ts';

/** At most this many files are named; `--dry-run` names all. */
export const mostNamed = 10;

const shortOid = (oid: string) => oid.slice(0, 7);

/** Quotes a name if it contains anything that must not be printed as it is. */
export function quoteText(name: string): string {
  return cleanLine(name) === name ? name : JSON.stringify(name);
}

/** Shows where HEAD is, how far it has moved since, and how to move it without losing anything. */
export function showHead(label: string, { head, earlier }: RestorePreview['setting']): string[] {
  if (head.commit === null) return ['  HEAD and index do not change.'];
  const stays = `  HEAD stays at ${shortOid(head.commit)}`;
  if (earlier === null || earlier.commit === null) return [`${stays}.`];
  const branch =
    earlier.branch !== null && earlier.branch !== head.branch
      ? ` That was on ${quoteText(earlier.branch)}; this is ${head.branch === null ? 'no branch' : quoteText(head.branch)}.`
      : '';
  if (earlier.moved === null) return [`${stays}; the commit of ${label} is not in this clone.${branch}`];
  const { gained, lost } = earlier.moved;
  if (gained === 0 && lost === 0) return [`${stays}, as it was at ${label}.${branch}`];
  if (lost === 0) {
    const move = `To move ${head.branch === null ? 'it' : 'the branch'} too: git reset --soft ${shortOid(earlier.commit)}`;
    return [`${stays}, ${count(gained, 'commit')} after ${label}.${branch === '' ? ` ${move}` : branch}`];
  }
  const commit = shortOid(earlier.commit);
  if (gained === 0) return [`${stays}, ${count(lost, 'commit')} before ${label} (${commit}).${branch}`];
  return [
    `${stays}, which has diverged from ${label}: ${count(gained, 'commit')} here, ${lost} there (${commit}).${branch}`,
  ];
}

/** Shows what was done, and which checkpoint holds the previous files. */
export function showDone({ settled, saved }: Pick<RestoreResult, 'settled' | 'saved'>): string[] {
  const first = settled.map(showSettled);
  if (saved === null) return [...first, 'Nothing left to do.'];
  return [
    ...first,
    `Restored. Your previous files are saved as checkpoint ${saved.seq}.`,
    'Undo: orch restore --undo',
  ];
}

function showSettled({ over, how, files, kept, saved, before }: RestoreResult['settled'][number]): string {
  if (how === 'completed') return `An interrupted restore turned out to be complete: ${over}.`;
  return [
    `Rolled back an interrupted restore: ${over} (${count(files.length, 'file')}).`,
    saved && `The files it left are saved as checkpoint ${saved.seq}.`,
    before !== null && `The files from before it are checkpoint ${before}.`,
    kept.length > 0 &&
      `Changed since, so not touched: ${kept.slice(0, mostNamed).map(quoteText).join(', ')}${kept.length > mostNamed ? ' …' : ''}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
