import { isUtf8 } from 'node:buffer';
import { join, sep } from 'node:path';
import { readIfThere, realPath, statIfThere } from '../system/files.ts';

/** A text file of the user's, behind links. */
export type UserFile = { readonly path: string; readonly bytes: Buffer };
export type Refused = { readonly problem: string };

/**
 * Reads a file in the user's working tree; null where there is none. Links stay links, but lead nowhere outside of it.
 */
export function readUserFile(root: string, name: string, mostBytes: number): UserFile | Refused | null {
  const path = join(root, name);
  const stats = statIfThere(path);
  if (stats === null) return null;
  if (!stats.isFile()) return { problem: 'it is no file' };
  if (stats.size > mostBytes) return { problem: `it is larger than ${mostBytes / 1024} KB` };
  const real = realPath(path);
  if (!real.startsWith(`${realPath(root)}${sep}`))
    return { problem: 'it is a link that leads out of the repository' };
  const bytes = readIfThere(real);
  if (bytes === null) return null;
  // What is decoded and encoded again has to be the same bytes.
  return isUtf8(bytes) ? { path: real, bytes } : { problem: 'it is not UTF-8' };
}

/** A file without any write permission is not to be replaced either, though its folder would allow that. */
export function findProtection(path: string): string | null {
  const mode = statIfThere(path)?.mode ?? 0;
  return (mode & 0o222) === 0 ? 'it is write-protected' : null;
}
