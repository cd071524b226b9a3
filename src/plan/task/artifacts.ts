import { join, sep } from 'node:path';
import { readInnerPath } from '../../ids.ts';
import type { SessionPorts } from '../../record/ports.ts';
import type { TaskRecord } from '../../state/runs.ts';
import { readIfThere, realPath, statIfThere } from '../../system/disk.ts';
import { hashFile } from '../../system/file-facts.ts';
import type { CarryRules, RerunReason } from '../run/carry-tasks.ts';

export type Artifact = TaskRecord['artifacts'][number];

/** Hashes the artifacts a task declares. One that is not a file in the repository makes the task fail. */
export function registerArtifacts(
  worktree: string,
  paths: readonly string[],
): { readonly artifacts: readonly Artifact[] } | { readonly problem: string } {
  const artifacts: Artifact[] = [];
  for (const path of paths) {
    const problem = findProblem(worktree, path);
    const hash = problem === null ? hashFile(join(worktree, path)) : null;
    if (hash === null) return { problem: `its artifact ${path} ${problem ?? 'does not exist'}` };
    artifacts.push({ path, ...hash });
  }
  return { artifacts };
}

/** The path was checked when the plan was parsed, but may be a link that leads elsewhere. */
function findProblem(worktree: string, path: string): string | null {
  if (readInnerPath(path) === null) return 'is not a path in the repository';
  const found = statIfThere(join(worktree, path));
  if (found === null) return 'does not exist';
  if (!found.isFile()) return 'is not a file';
  const isInside = realPath(join(worktree, path)).startsWith(`${realPath(worktree)}${sep}`);
  return isInside ? null : 'is a link out of the repository';
}

/**
 * Finds the tasks whose artifacts are missing or changed; `records` has the tasks in plan order. If several tasks made
 * the same file, it must be as the last one left it; otherwise all of them count as broken.
 */
export function findBrokenArtifacts(
  worktree: string,
  records: ReadonlyMap<string, readonly Artifact[]>,
): CarryRules['broken'] {
  const latest = new Map([...records.values()].flat().map(({ path, sha256 }) => [path, sha256]));
  const problems = new Map<string, Extract<RerunReason, { kind: 'artifact' }>>();
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

/** How much of one artifact, and of all artifacts of a run, the checkpoints store while the run is unfinished. */
export const storedBytes = { each: 1024 * 1024, all: 10 * 1024 * 1024 };

/** Reads the artifacts that checkpoints store: those that are small enough and contain no secrets. */
export async function readArtifacts(
  worktree: string,
  artifacts: readonly Artifact[],
  room: number,
  redact: SessionPorts['redact'],
): Promise<{ readonly path: string; readonly bytes: Buffer }[]> {
  const files: { path: string; bytes: Buffer }[] = [];
  let left = room;
  for (const { path } of artifacts.filter(({ bytes }) => bytes <= storedBytes.each)) {
    const bytes = findProblem(worktree, path) === null ? readIfThere(join(worktree, path)) : null;
    if (bytes === null || bytes.length > Math.min(storedBytes.each, left)) continue;
    const text = bytes.toString('utf8');
    if ((await redact(text)) !== text) continue;
    left -= bytes.length;
    files.push({ path, bytes });
  }
  return files;
}
