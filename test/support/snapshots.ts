import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Snapshot,
  type SnapshotPorts,
  snapshotRef,
  takeSnapshot,
} from '../../src/git/snapshot/snapshot.ts';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { openOrch } from '../../src/orch.ts';
import { readProgram } from './programs.ts';
import { cleanEnvironment, makeFolder, type TestRepository } from './repository.ts';

export const request = {
  epic: parseEpicId('e'),
  session: parseSessionId('sess-test'),
  label: 'session 1',
  at: 1_800_000_000_000,
  maxFileBytes: 1_000,
};
export const ref = snapshotRef(request.epic, request.session);

/** Opens a repository as a command does, works there, and closes it. */
export async function withPorts<T>(cwd: string, work: (ports: SnapshotPorts) => Promise<T>): Promise<T> {
  const orch = await openOrch({ cwd });
  try {
    return await work(orch);
  } finally {
    orch.close();
  }
}

/** Takes one, as a process of its own would. */
export function snapshot(
  repository: TestRepository,
  changed: Partial<typeof request> = {},
): Promise<Snapshot> {
  return withPorts(repository.folder, (ports) => takeSnapshot(ports, { ...request, ...changed }));
}

/** What git itself makes of the same folder: everything added to a copy's index. */
export function treeByGit(repository: TestRepository): string {
  const copy = join(makeFolder(), 'copy');
  // node's own copying knows no names that are not text.
  const env = cleanEnvironment(repository.home);
  readProgram('cp', ['-a', repository.folder, copy], { cwd: '/', env });
  const git = (...args: string[]) =>
    readProgram('git', ['-c', 'core.safecrlf=false', ...args], { cwd: copy, env });
  git('add', '--all');
  return git('write-tree');
}

/** The paths and what they hold, of a commit or tree. */
export function filesOf(repository: TestRepository, tree: string): Record<string, string> {
  const lines = repository.git('ls-tree', '-r', '-z', tree).split('\0').filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const [, mode = '', kind = '', oid = '', path = ''] = /^(\d+) (\w+) (\w+)\t(.*)$/s.exec(line) ?? [];
      return [path, `${mode} ${kind === 'blob' ? repository.git('cat-file', 'blob', oid) : oid}`];
    }),
  );
}

type Seen = { readonly [path: string]: string };

const own = /^\.git\/(objects|orchestration|refs\/orchestration)$/;

/** Every file in a repository but objects and what is orch's own: what it holds, and when it was last written. */
export function look(folder: string, below = ''): Seen {
  const seen: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below))) {
    const path = below === '' ? name : `${below}/${name}`;
    if (own.test(path)) continue;
    const full = join(folder, path);
    const stat = lstatSync(full);
    const content = stat.isSymbolicLink()
      ? readlinkSync(full)
      : stat.isFile()
        ? readFileSync(full, 'latin1')
        : '';
    if (stat.isDirectory()) Object.assign(seen, look(folder, path));
    else seen[path] = `${stat.mode} ${stat.mtimeMs} ${stat.ino} ${content}`;
  }
  return seen;
}
