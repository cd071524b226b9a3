import { lstatSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import { readIfThere, readTextIfThere, realPath, statIfThere } from '../system/files.ts';
import type { ObjectFormat } from './engine.ts';

export type Repository = {
  /** Of this worktree: HEAD and the index are here. */
  readonly gitDir: string;
  /** Shared by all worktrees: refs and objects are here. */
  readonly commonDir: string;
  /** The top of the working tree; null in a bare repository. */
  readonly worktree: string | null;
  readonly format: ObjectFormat;
  readonly refStorage: 'files' | 'reftable';
  /** The names below [extensions]: what a reader must understand. */
  readonly extensions: readonly string[];
};

/** Finds the repository a folder is in, from any folder, worktree or submodule. */
export function discoverRepository(from: string): Repository {
  let start: string;
  try {
    start = realPath(from);
  } catch (error) {
    throw new OrchError('NOT_A_REPOSITORY', `there is no folder ${from}`, {
      hint: 'Check the folder given with -C',
      data: { folder: from },
      cause: error,
    });
  }
  for (let folder = start; ; folder = dirname(folder)) {
    const gitDir = findGitDir(folder);
    if (gitDir !== null) return describe(gitDir, gitDir === folder ? null : folder);
    if (dirname(folder) === folder) break;
  }
  throw new OrchError('NOT_A_REPOSITORY', `${start} is not in a git repository`, {
    hint: 'Make one with: git init',
    data: { folder: start },
  });
}

/**
 * The repository of a folder somebody went to, where it is still the one they began in; else the latter. Who goes
 * elsewhere for a moment, into a submodule or out of all repositories, is still at work where they began.
 */
export function discoverRepositoryFrom(began: string, now: string): Repository {
  const first = tryToDiscover(began);
  if (first === null) return discoverRepository(now);
  const second = tryToDiscover(now);
  return second?.commonDir === first.commonDir ? second : first;
}

function tryToDiscover(folder: string): Repository | null {
  try {
    return discoverRepository(folder);
  } catch {
    return null; // whoever needs it is told by the other one
  }
}

/** The git dir that makes this folder a repository: its `.git`, what that file points to, or the folder itself. */
function findGitDir(folder: string): string | null {
  const inside = join(folder, '.git');
  const stat = statIfThere(inside);
  if (stat?.isDirectory() && isGitDir(inside)) return inside;
  if (stat?.isFile()) return followGitFile(folder, inside);
  return isGitDir(folder) ? folder : null;
}

function followGitFile(folder: string, file: string): string {
  const target = /^gitdir: (.+)$/.exec(readTextIfThere(file) ?? '')?.[1];
  const gitDir = target && resolve(folder, target);
  if (gitDir && isGitDir(gitDir)) return realPath(gitDir);
  throw new OrchError(
    'NOT_A_REPOSITORY',
    `${file} points to ${target ?? 'nothing'}, and no repository is there`,
    {
      hint: 'If the worktree or its repository was moved, repair it with: git worktree repair',
      data: { folder },
    },
  );
}

function isGitDir(folder: string): boolean {
  // A HEAD that is a dangling link (old git) counts too.
  if (!lstatSync(join(folder, 'HEAD'), { throwIfNoEntry: false })) return false;
  if (statIfThere(join(folder, 'commondir'))) return true;
  return Boolean(statIfThere(join(folder, 'objects'))?.isDirectory() && statIfThere(join(folder, 'refs')));
}

function describe(gitDir: string, worktree: string | null): Repository {
  const common = readTextIfThere(join(gitDir, 'commondir'));
  const commonDir = common === null ? gitDir : realPath(resolve(gitDir, common));
  const config = parseConfig(readIfThere(join(commonDir, 'config'))?.toString('utf8') ?? '');
  const format = config.get('extensions.objectformat') ?? 'sha1';
  if (format !== 'sha1' && format !== 'sha256') {
    throw new OrchError('REPOSITORY_UNSUPPORTED', `the repository's object format is ${format}`, {
      hint: 'orch knows sha1 and sha256; a newer orch may know more',
    });
  }
  refuseUnknown(config);
  // Somebody stands inside .git itself: the working tree is around it.
  const around = basename(gitDir) === '.git' && config.get('core.bare') !== 'true' ? dirname(gitDir) : null;
  return {
    gitDir,
    commonDir,
    worktree: worktree ?? around,
    format,
    refStorage: config.get('extensions.refstorage') === 'reftable' ? 'reftable' : 'files',
    extensions: [...config.keys()].filter((key) => key.startsWith('extensions.')).map((key) => key.slice(11)),
  };
}

/** What git itself understands of [extensions]; a repository with another must not be written to by guessing. */
const knownExtensions = [
  'noop',
  'noop-v1',
  'preciousobjects',
  'partialclone',
  'worktreeconfig',
  'objectformat',
  'compatobjectformat',
  'refstorage',
  'relativeworktrees',
];

function refuseUnknown(config: ReadonlyMap<string, string>): void {
  const version = Number(config.get('core.repositoryformatversion') ?? 0);
  const strange = [...config.keys()].find(
    (key) => key.startsWith('extensions.') && !knownExtensions.includes(key.slice('extensions.'.length)),
  );
  const problem =
    version > 1 ? `has format version ${version}` : version === 1 && strange ? `uses ${strange}` : null;
  if (problem === null) return;
  throw new OrchError('REPOSITORY_UNSUPPORTED', `the repository ${problem}, which this orch does not know`, {
    hint: 'Update orch and git; nothing was changed',
  });
}

/** The plain `key = value` lines of a repository's own config; what has a format to declare stands there as such. */
export function parseConfig(text: string): Map<string, string> {
  const values = new Map<string, string>();
  let section = '';
  for (const line of text.split('\n')) {
    const header = /^\s*\[([A-Za-z0-9.-]+)\]/.exec(line);
    if (header) section = header[1]?.toLowerCase() ?? '';
    else if (/^\s*\[/.test(line)) section = ''; // a subsection: nothing in it is about the format
    const [said = ''] = line.replace(/^\s*\[[^\]]*\]/, '').split(/[#;]/, 1);
    const [key = '', value = 'true'] = said.split(/=(.*)/, 2).map((part) => part.trim());
    if (section !== '' && /^[A-Za-z][A-Za-z0-9-]*$/.test(key))
      values.set(`${section}.${key.toLowerCase()}`, value.toLowerCase());
  }
  return values;
}
