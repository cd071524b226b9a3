import { relative } from 'node:path';
import { remotesPrefix } from '../checkpoint/remote-refs.ts';
import { cleanLine } from '../text.ts';
import { count, formatInstant } from '../units.ts';
import type { Cleanup } from './cleanup.ts';
import type { Judgement } from './cleanup-plan.ts';
import type { Thing } from './cleanup-types.ts';

/** What a thing is called, and where it is. */
export function nameThing(thing: Thing, home: string): { readonly kind: string; readonly name: string } {
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
export function isGone({ thing }: Judgement): boolean {
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
