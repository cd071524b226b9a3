import { join } from 'node:path';
import { listFolder, readIfThere, statIfThere } from '../system/files.ts';
import { findCargoGates, findGoGates } from './ecosystem-compiled.ts';
import { findNodeGates } from './ecosystem-node.ts';
import { findPythonGates } from './ecosystem-python.ts';
import { type FolderReader, type Found, gateNames } from './ecosystem-shape.ts';
import { findJustGates, findMakeGates } from './ecosystem-targets.ts';
import { defaultGateTimeout, type Gate } from './gate.ts';

const finders: readonly ((folder: FolderReader) => Found | null)[] = [
  findNodeGates,
  findCargoGates,
  findGoGates,
  findPythonGates,
  findMakeGates,
  findJustGates,
];

/** Finds the gates a folder has by the conventions of its ecosystems. */
export function findGates(folder: string): Gate[] {
  return detectGates(readerOf(folder));
}

/** Names the ecosystems of a folder: `npm`, `cargo`. */
export function findEcosystems(folder: string): string[] {
  const reader = readerOf(folder);
  return finders.flatMap((find) => find(reader)?.ecosystem ?? []);
}

/** Far more than a manifest or a makefile has. */
const mostBytes = 1024 * 1024;

function readerOf(folder: string): FolderReader {
  return {
    list: (path) => listFolder(join(folder, path)),
    read: (path) => {
      const found = statIfThere(join(folder, path));
      const isRead = found?.isFile() === true && found.size <= mostBytes;
      return isRead ? (readIfThere(join(folder, path))?.toString('utf8') ?? null) : null;
    },
  };
}

/** The same over what a reader shows; a name that several ecosystems have gets theirs in front of it. */
export function detectGates(folder: FolderReader): Gate[] {
  const all = finders.flatMap((find) => find(folder) ?? []);
  return gateNames.flatMap((name) => {
    const having = all.filter(({ lines }) => lines[name] !== undefined);
    return having.flatMap(({ ecosystem, lines }) => {
      const run = lines[name];
      if (run === undefined) return [];
      const unique = having.length === 1 ? name : `${ecosystem}:${name}`;
      return [{ name: unique, run, fix: null, timeout: defaultGateTimeout }];
    });
  });
}
