import { type Disk, realDisk } from '../../src/system/disk.ts';

/** What a disk does wrong: an error of a system call, or a write that takes only a part. */
export type Fault =
  | { readonly in: 'open' | 'write' | 'sync' | 'close'; readonly code: string }
  | 'short write';

/** A disk whose n-th operation of the kind fails, once; everything before and after works. */
export function makeFaultyDisk(fault: Fault, at: number, under: Disk = realDisk) {
  let count = 0;
  const kind = fault === 'short write' ? 'write' : fault.in;
  const isNow = (operation: string) => operation === kind && ++count === at;
  const fail = () => {
    if (fault === 'short write') return;
    throw Object.assign(new Error(`${fault.code}: injected`), { code: fault.code });
  };
  const disk: Disk = {
    ...under,
    open: (path, flags, mode) => {
      if (isNow('open')) fail();
      return under.open(path, flags, mode);
    },
    write: (fd, bytes) => {
      if (!isNow('write')) return under.write(fd, bytes);
      fail();
      return under.write(fd, bytes.subarray(0, bytes.length - 10));
    },
    sync: async (fd) => {
      if (isNow('sync')) fail();
      await under.sync(fd);
    },
    close: (fd) => {
      under.close(fd); // the descriptor is gone, whatever close says
      if (isNow('close')) fail();
    },
  };
  return { disk, hasFailed: () => count >= at };
}
