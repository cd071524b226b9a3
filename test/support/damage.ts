import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import type { Checkpoint } from '../../src/index.ts';
import { documentPath, listFiles } from './checkpoints.ts';
import type { TestRepository } from './repository.ts';

/** What can be wrong with a file that holds an object; null where it is gone. */
export const damages = {
  deleted: () => null,
  empty: () => Buffer.alloc(0),
  truncated: (bytes: Buffer) => bytes.subarray(0, bytes.length / 2),
  flipped: (bytes: Buffer) =>
    Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 0xff : byte))),
  /** Whole for zlib, and not what its id says. */
  altered: (bytes: Buffer) => {
    const content = inflateSync(bytes);
    const last = content.length - 2;
    return deflateSync(Buffer.from(content.map((byte, at) => (at === last ? byte ^ 1 : byte))));
  },
} as const;

/** The parts of a checkpoint, as git names them. */
export const parts = {
  document: (checkpoint: Checkpoint) => `${checkpoint.commit}:${documentPath(checkpoint)}`,
  folder: ({ commit }: Checkpoint) => `${commit}:.orchestration/checkpoints/x`,
  tree: ({ commit }: Checkpoint) => `${commit}^{tree}`,
  commit: ({ commit }: Checkpoint) => commit,
} as const;

export function looseFile({ folder }: TestRepository, oid: string): string {
  return join(folder, '.git/objects', oid.slice(0, 2), oid.slice(2));
}

/** Removes a loose object for good: the second name it has for a while, after a save, is removed too. */
export function loseObject(repository: TestRepository, oid: string): void {
  rmSync(looseFile(repository, oid));
  for (const path of listFiles(join(repository.folder, '.git/orchestration/held-objects')))
    if (path.endsWith(oid)) rmSync(path);
}

/** Damages a part of a checkpoint, which must be loose. Returns its object id. */
export function damage(
  repository: TestRepository,
  checkpoint: Checkpoint,
  part: keyof typeof parts,
  how: keyof typeof damages,
): string {
  const oid = repository.git('rev-parse', '--verify', parts[part](checkpoint));
  const path = looseFile(repository, oid);
  const bytes = damages[how](readFileSync(path));
  loseObject(repository, oid);
  if (bytes === null) return oid;
  writeFileSync(path, bytes);
  chmodSync(path, 0o444);
  return oid;
}
