import { constants } from 'node:fs';
import { type Disk, statIfThere, writeAll } from './files.ts';

/** How long a log gets before it is begun anew; one old part is kept. */
const maxBytes = 10 * 1024 * 1024;

export type LogFile = { append(bytes: Uint8Array): void; close(): void };

/** The part of a log that came before the one in use. */
export function olderPart(path: string): string {
  return `${path}.1`;
}

/** A log that never takes more than twice its bound, however much is written. */
export function openLogFile(disk: Disk, path: string): LogFile {
  const open = () => disk.open(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o644);
  let fd = open();
  let size = statIfThere(path)?.size ?? 0;
  return {
    append: (bytes) => {
      if (size > 0 && size + bytes.length > maxBytes) {
        // The old one is closed last: should no other be opened, its number must not become another file's.
        if (statIfThere(path) !== null) disk.rename(path, olderPart(path));
        const next = open();
        disk.close(fd);
        fd = next;
        size = 0;
      }
      writeAll(disk, fd, bytes);
      size += bytes.length;
    },
    close: () => disk.close(fd),
  };
}
