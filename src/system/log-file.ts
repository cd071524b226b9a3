import { constants } from 'node:fs';
import { type Disk, statIfThere, writeAll } from './disk.ts';

/** A longer log is rotated; one old part is kept. */
const maxBytes = 10 * 1024 * 1024;

export type LogFile = { append(bytes: Uint8Array): void; close(): void };

/** Where the previous part of a log is kept. */
export function rotatedLogPath(path: string): string {
  return `${path}.1`;
}

/** Opens a log that rotates itself, so that it never exceeds twice its limit. */
export function openLogFile(disk: Disk, path: string): LogFile {
  const open = () => disk.open(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o644);
  let fd = open();
  let size = statIfThere(path)?.size ?? 0;
  return {
    append: (bytes) => {
      if (size > 0 && size + bytes.length > maxBytes) {
        // The old one is closed last: if opening fails, its descriptor number must not go to another file.
        if (statIfThere(path) !== null) disk.rename(path, rotatedLogPath(path));
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
