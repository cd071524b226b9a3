import { type Disk, realDisk } from '../../src/system/disk.ts';

/** A disk on which, from its n-th write on, there is no space; it may still take a part of that one. */
export function makeFullDisk(at: number, takesPart: boolean): Disk & { isFull(): boolean } {
  let writes = 0;
  return {
    ...realDisk,
    isFull: () => writes >= at,
    write: (fd, bytes) => {
      writes += 1;
      if (writes < at) return realDisk.write(fd, bytes);
      if (takesPart && writes === at) return realDisk.write(fd, bytes.subarray(0, bytes.length >> 1));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    },
  };
}
