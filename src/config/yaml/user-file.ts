import { isUtf8 } from 'node:buffer';
import { join, sep } from 'node:path';
import { readIfThere, realPath, statIfThere } from '../../system/disk.ts';

/** A text file of the user's; `path` has its links resolved. */
export type UserFile = { readonly path: string; readonly bytes: Buffer };
export type Refused = { readonly problem: string };

/** Reads a file in the user's working tree, if it exists. A link may not lead out of the working tree. */
export function readUserFile(root: string, name: string, mostBytes: number): UserFile | Refused | null {
  const path = join(root, name);
  const stats = statIfThere(path);
  if (stats === null) return null;
  if (!stats.isFile()) return { problem: 'it is not a file' };
  if (stats.size > mostBytes) return { problem: `it is larger than ${mostBytes / 1024} KB` };
  const real = realPath(path);
  if (!real.startsWith(`${realPath(root)}${sep}`))
    return { problem: 'it is a link that leads out of the repository' };
  const bytes = readIfThere(real);
  if (bytes === null) return null;
  // Decoding and encoding it again must give the same bytes.
  return isUtf8(bytes) ? { path: real, bytes } : { problem: 'it is not UTF-8' };
}

/** A file without write permission must not be replaced either, even if its folder allows that. */
export function findProtection(path: string): string | null {
  const mode = statIfThere(path)?.mode ?? 0;
  return (mode & 0o222) === 0 ? 'it is write-protected' : null;
}
