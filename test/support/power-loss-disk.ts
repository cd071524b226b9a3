import fs from 'node:fs';
import { dirname } from 'node:path';
import { type Disk, realDisk } from '../../src/system/disk.ts';

type Undo = { readonly folder: string | null; readonly file: string | null; run(): void };

/**
 * A disk that forgets, at a power loss, everything nobody waited for: bytes until their file was synced, names until
 * their folder was. Harsher than real file systems, which write some of it anyway.
 */
export function makeForgetfulDisk(): { disk: Disk; losePower(): void } {
  let undos: Undo[] = [];
  const paths = new Map<number, string>();
  const forget = (undo: Undo) => undos.push(undo);
  const renamed = (from: string, to: string) => {
    undos = undos.map((undo) => (undo.file === from ? { ...undo, file: to } : undo));
  };

  const disk: Disk = {
    open: (path, flags, mode) => {
      const existed = fs.existsSync(path);
      const before = existed && flags === 'w' ? fs.readFileSync(path) : null;
      const fd = realDisk.open(path, flags, mode);
      paths.set(fd, path);
      if (!existed)
        forget({ folder: dirname(path), file: null, run: () => fs.rmSync(path, { force: true }) });
      if (before) forget({ folder: null, file: path, run: () => fs.writeFileSync(path, before) });
      return fd;
    },
    write: (fd, bytes) => {
      const size = fs.fstatSync(fd).size;
      const written = realDisk.write(fd, bytes);
      const undo: Undo = { folder: null, file: paths.get(fd) ?? '', run: () => {} };
      const inode = fs.fstatSync(fd).ino;
      forget({ ...undo, run: () => truncateInode(undo.file ?? '', inode, size) });
      return written;
    },
    sync: async (fd) => {
      await realDisk.sync(fd);
      const path = paths.get(fd) ?? '';
      const isFolder = fs.fstatSync(fd).isDirectory();
      undos = undos.filter((undo) => (isFolder ? undo.folder !== path : undo.file !== path));
    },
    close: (fd) => {
      paths.delete(fd);
      realDisk.close(fd);
    },
    rename: (from, to) => {
      const replaced = fs.existsSync(to) ? fs.readFileSync(to) : null;
      realDisk.rename(from, to);
      renamed(from, to);
      for (const [fd, path] of paths) if (path === from) paths.set(fd, to);
      const run = () => {
        if (fs.existsSync(to)) fs.renameSync(to, from);
        if (replaced) fs.writeFileSync(to, replaced);
      };
      forget({ folder: dirname(to), file: null, run });
    },
    link: (from, to) => {
      realDisk.link(from, to);
      forget({ folder: dirname(to), file: null, run: () => fs.rmSync(to, { force: true }) });
    },
    unlink: (path) => {
      const content = fs.readFileSync(path);
      realDisk.unlink(path);
      forget({ folder: dirname(path), file: null, run: () => fs.writeFileSync(path, content) });
    },
    rmdir: (path) => {
      realDisk.rmdir(path);
      forget({ folder: dirname(path), file: null, run: () => fs.mkdirSync(path) });
    },
    mkdir: (path) => {
      realDisk.mkdir(path);
      forget({
        folder: dirname(path),
        file: null,
        run: () => fs.rmSync(path, { recursive: true, force: true }),
      });
    },
  };
  return {
    disk,
    losePower: () => {
      for (const undo of undos.reverse()) undo.run();
      undos = [];
    },
  };
}

/** Cuts a file back, wherever it was renamed to in the same folder. */
function truncateInode(path: string, inode: number, size: number): void {
  const folder = dirname(path);
  if (!fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder)) {
    const candidate = `${folder}/${name}`;
    if (fs.statSync(candidate).ino === inode) {
      fs.chmodSync(candidate, 0o644);
      fs.truncateSync(candidate, size);
    }
  }
}
