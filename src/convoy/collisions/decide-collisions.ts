import { quoteForShell } from '../../text.ts';
import type { EpicId } from '../../types.ts';
import { mergedBranch, mergedName } from '../names.ts';
import type { Collision } from './find-collisions.ts';

/* What follows from collisions: which are new, who is told, and who waits. */

export type KnownCollisions = {
  readonly current: readonly Collision[];
  /** In which files each pair was told that it collides: `login logout` → `[src/app.ts]`. */
  readonly told: { readonly [pair: string]: readonly string[] };
};

export const noCollisions: KnownCollisions = { current: [], told: {} };

export type CollisionChanges = {
  readonly known: KnownCollisions;
  readonly began: readonly Collision[];
  readonly ended: readonly Collision[];
  readonly messages: readonly { readonly task: string; readonly text: string }[];
};

/** Compares the collisions with those before. A worker hears of a file and another task once, even if it comes back. */
export function decideCollisions(
  convoy: EpicId,
  before: KnownCollisions,
  now: readonly Collision[],
): CollisionChanges {
  const told: { [pair: string]: readonly string[] } = { ...before.told };
  const messages: { task: string; text: string }[] = [];
  for (const { one, other, commits, files } of now) {
    const pair = nameOf({ one, other });
    const heard = told[pair] ?? [];
    const news = files.filter((path) => !heard.includes(path));
    if (news.length === 0) continue;
    told[pair] = [...heard, ...news];
    messages.push({ task: one, text: describeCollision(convoy, other, commits[1], news) });
    if (other !== mergedName)
      messages.push({ task: other, text: describeCollision(convoy, one, commits[0], news) });
  }
  const isIn = (all: readonly Collision[]) => {
    const names = new Set(all.map(nameOf));
    return (each: Collision) => names.has(nameOf(each));
  };
  const [wasThere, isThere] = [isIn(before.current), isIn(now)];
  return {
    known: { current: now, told },
    began: now.filter((each) => !wasThere(each)),
    ended: before.current.filter((each) => !isThere(each)),
    messages,
  };
}

const nameOf = ({ one, other }: Pick<Collision, 'one' | 'other'>) => [one, other].sort().join(' ');

/** More than a few files say no more. */
const shownFiles = 10;

function describeCollision(convoy: EpicId, other: string, commit: string, files: readonly string[]): string {
  const branch = mergedBranch(convoy);
  const more = files.length > shownFiles ? ` and ${files.length - shownFiles} more` : '';
  const list = `${files.slice(0, shownFiles).join(', ')}${more}`;
  const paths = files.length > shownFiles ? '' : ` -- ${quoteForShell(files)}`;
  const isMerged = other === mergedName;
  return [
    isMerged
      ? `What you have changed conflicts with what is merged by now, in ${list}.`
      : `What you have changed conflicts with what task ${other} is changing at the same time, in ${list}.`,
    'Keep going, but do not reformat, move or rename anything there, so that both can be merged.',
    isMerged
      ? `To see what was merged: git diff HEAD...${branch}${paths}`
      : `To see the other's changes: git diff ${branch}...${commit.slice(0, 12)}${paths}`,
  ].join('\n');
}

/**
 * Which tasks wait for which, if collisions hold tasks: the one that began later, until the other is merged or the collision
 * is over. What is merged already holds no one.
 */
export function decideHolds(
  collisions: readonly Collision[],
  began: ReadonlyMap<string, number>,
): Map<string, readonly string[]> {
  const holds = new Map<string, string[]>();
  const isLater = (one: string, other: string) => {
    const difference = (began.get(one) ?? 0) - (began.get(other) ?? 0);
    return difference === 0 ? one > other : difference > 0;
  };
  for (const { one, other } of collisions) {
    if (other === mergedName || !began.has(one) || !began.has(other)) continue;
    const [waits, goes] = isLater(one, other) ? [one, other] : [other, one];
    holds.set(waits, [...(holds.get(waits) ?? []), goes].sort());
  }
  return holds;
}
