import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readProgram } from './programs.ts';
import { cleanEnvironment, makeFolder, type TestRepository } from './repository.ts';

type Seen = { readonly [path: string]: string };

/** Every file of a folder but `.git`: its mode and its very bytes. */
export function lookAtFiles(folder: string, below = ''): Seen {
  const seen: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below))) {
    const path = below === '' ? name : `${below}/${name}`;
    if (name === '.git') continue;
    const full = join(folder, path);
    const stat = lstatSync(full);
    if (stat.isDirectory()) Object.assign(seen, lookAtFiles(folder, path));
    else if (stat.isSymbolicLink()) seen[path] = `link ${readlinkSync(full)}`;
    else seen[path] = `${(stat.mode & 0o777).toString(8)} ${readFileSync(full, 'latin1')}`;
  }
  return seen;
}

/** What of `.git` is the user's: HEAD, index, branches, tags, stash, config, to the byte. */
export function lookAtGit({ folder, git }: TestRepository): Seen {
  const files = ['HEAD', 'index', 'config', 'ORIG_HEAD', 'MERGE_HEAD', 'info/exclude'];
  const bytes = files.map((name) => {
    const path = join(folder, '.git', name);
    return [name, existsSync(path) ? readFileSync(path, 'latin1') : 'none'] as const;
  });
  const refs = git('for-each-ref', 'refs/heads', 'refs/tags', 'refs/stash', 'refs/remotes');
  return { ...Object.fromEntries(bytes), refs };
}

/** What git itself checks out of a tree, in a copy of the repository without any of its files. */
export function checkOutByGit({ folder, home }: TestRepository, tree: string): Seen {
  const copy = join(makeFolder(), 'copy');
  const env = cleanEnvironment(home);
  readProgram('cp', ['-a', folder, copy], { cwd: '/', env });
  for (const name of readdirSync(copy)) if (name !== '.git') rmSync(join(copy, name), { recursive: true });
  rmSync(join(copy, '.git/index'), { force: true });
  readProgram('git', ['read-tree', '-m', '-u', tree], { cwd: copy, env });
  return lookAtFiles(copy);
}
