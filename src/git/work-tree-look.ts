import { accessSync, constants, lstatSync, type Stats } from 'node:fs';
import { systemCode } from '../errors.ts';
import type { Found } from './work-tree-changes.ts';

/** Looks what is at each path of a working tree. */
export function lookAt(worktree: string, paths: Iterable<string>): Map<string, Found> {
  const behindLink = rememberLinks(worktree);
  const found = new Map<string, Found>();
  for (const path of paths) {
    found.set(path, behindLink(path) ? { kind: 'behind link', bytes: 0 } : lookAtOne(worktree, path));
  }
  return found;
}

/** Names are bytes, so paths are too. */
export function fullPath(worktree: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${worktree}/`), Buffer.from(path, 'latin1')]);
}

function statOf(worktree: string, path: string): Stats | 'missing' | 'unreadable' {
  try {
    return lstatSync(fullPath(worktree, path));
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '') ? 'missing' : 'unreadable';
  }
}

function lookAtOne(worktree: string, path: string): Found {
  const stat = statOf(worktree, path);
  if (typeof stat === 'string') return { kind: stat, bytes: 0 };
  if (stat.isSymbolicLink()) return { kind: 'link', bytes: stat.size };
  if (stat.isDirectory()) {
    const isRepository = typeof statOf(worktree, `${path}/.git`) !== 'string';
    return { kind: isRepository ? 'repository' : 'folder', bytes: 0 };
  }
  if (!stat.isFile()) return { kind: 'special', bytes: 0 };
  return { kind: isReadable(fullPath(worktree, path)) ? 'file' : 'unreadable', bytes: stat.size };
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    return systemCode(error) === 'ENOENT'; // it went just now, which git can deal with
  }
}

/** Is one of the folders above a path a link? Each folder is looked at once. */
function rememberLinks(worktree: string): (path: string) => boolean {
  const links = new Map<string, boolean>();
  const isBehindLink = (path: string): boolean => {
    const end = path.lastIndexOf('/', path.length - 2);
    if (end < 0) return false;
    const folder = path.slice(0, end);
    const known = links.get(folder);
    if (known !== undefined) return known;
    const stat = statOf(worktree, folder);
    const answer = isBehindLink(folder) || (typeof stat !== 'string' && stat.isSymbolicLink());
    links.set(folder, answer);
    return answer;
  };
  return isBehindLink;
}
