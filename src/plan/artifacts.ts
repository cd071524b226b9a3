import { join, sep } from 'node:path';
import { readInnerPath } from '../ids.ts';
import type { SessionPorts } from '../session/record.ts';
import type { TaskRecord } from '../state/run.ts';
import { hashFile } from '../system/file-hash.ts';
import { readIfThere, realPath, statIfThere } from '../system/files.ts';
import type { Again } from './carry.ts';

type Redact = SessionPorts['redact'];

export type Artifact = TaskRecord['artifacts'][number];

export type Registered =
  | { readonly kind: 'registered'; readonly artifacts: readonly Artifact[] }
  | { readonly kind: 'missing'; readonly problem: string };

/** Registers what a task says it made. What is not there, or not a file in the repository, it did not make. */
export function registerArtifacts(worktree: string, paths: readonly string[]): Registered {
  const artifacts: Artifact[] = [];
  for (const path of paths) {
    const problem = findProblem(worktree, path);
    const hash = problem === null ? hashFile(join(worktree, path)) : null;
    if (hash === null)
      return { kind: 'missing', problem: `its artifact ${path} ${problem ?? 'is not there'}` };
    artifacts.push({ path, ...hash });
  }
  return { kind: 'registered', artifacts };
}

/** A path that was checked where the plan was read can still be a link to somewhere else. */
function findProblem(worktree: string, path: string): string | null {
  if (readInnerPath(path) === null) return 'is not a path in the repository';
  const found = statIfThere(join(worktree, path));
  if (found === null) return 'is not there';
  if (!found.isFile()) return 'is not a file';
  const isInside = realPath(join(worktree, path)).startsWith(`${realPath(worktree)}${sep}`);
  return isInside ? null : 'is a link out of the repository';
}

/**
 * Which of the artifacts that were registered are no longer what they were; the tasks in the order they come in. What
 * several registered is as the last of them left it; where it is not, none of them made what is there.
 */
export function findBroken(
  worktree: string,
  records: ReadonlyMap<string, readonly Artifact[]>,
): Map<string, Extract<Again, { kind: 'artifact' }>> {
  const latest = new Map([...records.values()].flat().map(({ path, sha256 }) => [path, sha256]));
  const problems = new Map<string, Extract<Again, { kind: 'artifact' }>>();
  for (const [path, sha256] of latest) {
    const hash = findProblem(worktree, path) === null ? hashFile(join(worktree, path)) : null;
    if (hash?.sha256 === sha256) continue;
    problems.set(path, { kind: 'artifact', path, how: hash === null ? 'missing' : 'changed' });
  }
  return new Map(
    [...records].flatMap(([task, artifacts]) => {
      const [first] = artifacts.flatMap(({ path }) => problems.get(path) ?? []);
      return first ? [[task, first] as const] : [];
    }),
  );
}

/** How much of one artifact, and of all artifacts of a run, is kept in the checkpoints while it is unfinished. */
export const keptBytes = { each: 1024 * 1024, all: 10 * 1024 * 1024 };

/** The contents that are kept: of what is small enough, and has nothing in it that must not be kept. */
export async function readKept(
  worktree: string,
  artifacts: readonly Artifact[],
  room: number,
  redact: Redact,
): Promise<{ readonly path: string; readonly bytes: Buffer }[]> {
  const kept: { path: string; bytes: Buffer }[] = [];
  let left = room;
  for (const { path } of artifacts.filter(({ bytes }) => bytes <= keptBytes.each)) {
    const bytes = findProblem(worktree, path) === null ? readIfThere(join(worktree, path)) : null;
    if (bytes === null || bytes.length > Math.min(keptBytes.each, left)) continue;
    const text = bytes.toString('utf8');
    if ((await redact(text)) !== text) continue;
    left -= bytes.length;
    kept.push({ path, bytes });
  }
  return kept;
}
