import fs from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './commands.js';
import { loadInternals } from './internals.js';
import { compare, measure } from './measure.js';
import { git, makeRepository, removeFolder } from './scratch.js';

const files = 20_000;

/** A repository of a size people work in: 20,000 files of about 700 bytes. */
function makeLargeRepository() {
  const folder = makeRepository();
  for (let index = 0; index < files; index++) {
    const path = join(folder, `src/${index % 20}/${((index / 20) % 20) | 0}/file-${index}.ts`);
    if (index < 400) fs.mkdirSync(join(path, '..'), { recursive: true });
    fs.writeFileSync(path, `export const value${index} = ${index};\n`.repeat(20));
  }
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'much');
  git(folder, 'repack', '-adq');
  git(folder, 'branch', 'orch/auth/merged');
  return folder;
}

/** A task's worktree, new and one used again, against `git worktree add -b` alone; all of them removed in between. */
export async function run() {
  const { openOrch, openTaskWorktree, closeTaskWorktree, removeTaskWorktree, parseEpicId, parseOid } =
    await loadInternals();
  const folder = makeLargeRepository();
  const orch = await openOrch({ cwd: folder, engine: 'native' });
  const convoy = parseEpicId('auth');
  const base = parseOid(git(folder, 'rev-parse', 'HEAD'));
  const { signal } = new AbortController();
  const open = (task) => openTaskWorktree(orch, { convoy, task, worker: {}, base, isNew: true, signal });
  const opened = new Map();
  const remove = async (name) => {
    if (opened.has(name)) await removeTaskWorktree(orch, opened.get(name).own);
    opened.delete(name);
  };
  let made = 0;
  const bare = join(folder, '..', 'bare');
  const times = await measure(
    {
      fresh: {
        prepare: () => remove('fresh'),
        run: async () => opened.set('fresh', await open(`fresh-${++made}`)),
      },
      again: {
        // As after a task that changed ten files and left as many.
        prepare: async () => {
          await remove('fresh');
          await remove('again');
          const before = await open(`before-${++made}`);
          for (let index = 0; index < 10; index++) {
            fs.writeFileSync(join(before.own.path, `src/0/0/file-${index * 400}.ts`), 'changed\n');
            fs.writeFileSync(join(before.own.path, `new-${index}`), 'new\n');
          }
          await closeTaskWorktree(orch, before);
        },
        run: async () => opened.set('again', await open(`again-${++made}`)),
      },
      bare: {
        prepare: () => {
          if (fs.existsSync(bare)) git(folder, 'worktree', 'remove', '--force', '--force', bare);
        },
        run: () =>
          runCommand('git', ['worktree', 'add', '--quiet', '-b', `bare-${++made}`, bare, base], {
            cwd: folder,
          }),
      },
    },
    { rounds: 7, warmUp: 1 },
  );
  orch.close();
  git(folder, 'worktree', 'remove', '--force', '--force', bare);
  for (const name of [...opened.keys()]) await remove(name);
  removeFolder(folder);
  const what = `worktree, ${files / 1_000},000 files`;
  return [
    { what: `${what}, new`, against: 'git worktree add', ...compare(times.fresh, times.bare), bar: 1.2 },
    { what: `${what}, used again`, against: 'git worktree add', ...compare(times.again, times.bare), bar: 1 },
  ];
}
