import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { oid, text, withFields } from '../../checks.ts';
import { OrchError } from '../../errors.ts';
import { lockPathOf } from '../../git/refs/file-refs.ts';
import type { Repository } from '../../git/repository.ts';
import { askGit, runGit } from '../../git/run-git.ts';
import { currentBranch } from '../../git/worktree/merge-commits.ts';
import { listUncommitted } from '../../git/worktree/user-commit.ts';
import type { Orch } from '../../orch.ts';
import { lstatIfThere, readIfThere, removeIfThere } from '../../system/disk.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import {
  checkProcess,
  identifyThisProcess,
  isProcessIdentity,
  type ProcessIdentity,
} from '../../system/process/identity.ts';
import { findWorkingIn } from '../../system/process/process-tree.ts';
import type { Oid } from '../../types.ts';

/*
 * Git writes the files of a merge one by one and moves the branch last. A landing that is killed in between leaves some of
 * both sides and a lock. What it was doing is noted before it begins, so that the next one can take it back: exactly the
 * files that are still as the landing left them.
 */

type Note = {
  readonly worktree: string;
  readonly branch: string;
  /** Where the branch was. */
  readonly tip: Oid;
  /** The files it was to have. */
  readonly tree: Oid;
  readonly holder: ProcessIdentity;
};

const isNote = withFields<Note>({
  worktree: text,
  branch: text,
  tip: oid,
  tree: oid,
  holder: isProcessIdentity,
});

const notePath = ({ home }: Pick<Orch, 'home'>) => join(home, 'landing.json');

/** Notes a landing that begins now; the function it returns forgets it. */
export async function noteLanding(
  orch: Orch,
  landing: Pick<Note, 'branch' | 'tip' | 'tree'>,
): Promise<() => void> {
  const worktree = orch.repository.worktree ?? '';
  await writeJson(orch, notePath(orch), {
    ...landing,
    worktree,
    holder: identifyThisProcess(),
  } satisfies Note);
  return () => removeIfThere(orch.disk, notePath(orch));
}

/** Was a landing cut off in these files, or is one at work? */
export function isCutOff(orch: Orch): boolean {
  return readJson(notePath(orch), isNote)?.worktree === orch.repository.worktree;
}

/** Takes back a landing that was cut off in these files. Returns whether there was one. */
export async function takeBackCutOff(orch: Orch): Promise<boolean> {
  const { repository, disk } = orch;
  const note = readJson(notePath(orch), isNote);
  if (note === null || note.worktree !== repository.worktree) return false;
  // Its git may live on when orch was killed, and ends by itself.
  const isAtWork =
    checkProcess(note.holder) !== 'dead' ||
    findWorkingIn(note.worktree).some(({ command }) => /(?:^|\/)git /.test(command));
  if (isAtWork)
    throw new OrchError('SESSION_ACTIVE', 'another landing is at work in these files', {
      hint: 'Run the same command again when it has ended',
    });
  const head = (await runGit(repository, ['rev-parse', '--verify', 'HEAD^{commit}'])).trim();
  const isCutOff = head === note.tip && (await currentBranch(repository)) === note.branch;
  if (isCutOff) {
    for (const lock of ['index.lock', 'HEAD.lock', 'ORIG_HEAD.lock'])
      removeIfThere(disk, join(repository.gitDir, lock));
    removeIfThere(disk, lockPathOf(repository.commonDir, `refs/heads/${note.branch}`));
    await takeBack(orch, note);
  }
  removeIfThere(disk, notePath(orch));
  return isCutOff;
}

async function takeBack({ repository, disk }: Orch, { worktree, tip, tree }: Note): Promise<void> {
  const listed = ['diff', '--name-only', '--no-renames', '-z', tip, tree];
  const changed = new Set((await runGit(repository, listed)).split('\0').filter(Boolean));
  const cut = (await listUncommitted(repository)).map(({ path }) => path).filter((path) => changed.has(path));
  const before: string[] = [];
  const added: string[] = [];
  const foreign: string[] = [];
  for (const path of cut) {
    const [old, landed] = [await readAt(repository, tip, path), await readAt(repository, tree, path)];
    if (!isOf(readFile(join(worktree, path)), old, landed)) foreign.push(path);
    else if (old === null) added.push(path);
    else before.push(path);
  }
  if (foreign.length > 0)
    throw new OrchError(
      'GIT_FAILED',
      `an earlier landing was cut off, and ${foreign.join(', ')} changed since`,
      {
        hint: `Nothing was changed. Keep what you need of these files, then: git restore --source=HEAD --staged --worktree .`,
        data: { files: foreign },
      },
    );
  const fromInput = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  if (cut.length > 0)
    await runGit(repository, ['--literal-pathspecs', 'reset', '--quiet', ...fromInput], cut.join('\0'));
  if (before.length > 0)
    await runGit(repository, ['--literal-pathspecs', 'checkout', '--quiet', ...fromInput], before.join('\0'));
  for (const path of added) removeIfThere(disk, join(worktree, path));
  for (const name of ['MERGE_HEAD', 'MERGE_MSG', 'MERGE_MODE', 'AUTO_MERGE'])
    removeIfThere(disk, join(repository.gitDir, name));
}

/** Is a file as one of the sides has it, or as git was just writing it? */
function isOf(now: string | null, old: string | null, landed: string | null): boolean {
  return now === null || now === old || (landed?.startsWith(now) ?? false);
}

function readFile(path: string): string | null {
  const found = lstatIfThere(path);
  if (found?.isSymbolicLink()) return readlinkSync(path, 'latin1');
  return found?.isFile() ? (readIfThere(path)?.toString('latin1') ?? null) : null;
}

/** Reads a file of a tree as git writes it into a working tree; null if the tree has none. */
async function readAt(repository: Repository, tree: Oid, path: string): Promise<string | null> {
  const asked = await askGit(repository, ['cat-file', '--filters', `${tree}:${path}`], {
    encoding: 'latin1',
  });
  return asked.status === 0 ? asked.stdout : null;
}
