import { readFrom } from './files.ts';

export type FileHash = { readonly sha256: string; readonly bytes: number };

const chunkBytes = 1024 * 1024;

/** The hash of a file of any size; null where there is none. */
export function hashFile(path: string): FileHash | null {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (let bytes = 0; ; ) {
    const chunk = readFrom(path, bytes, chunkBytes);
    if (chunk === null) return null;
    if (chunk.bytes.length === 0) return { sha256: hash.digest('hex'), bytes };
    hash.update(chunk.bytes);
    bytes += chunk.bytes.length;
  }
}
