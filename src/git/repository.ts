import { lstatSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import { readIfThere, readTextIfThere, realPath, statIfThere } from '../system/disk.ts';
import type { ObjectFormat } from './engine.ts';

export type Repository = {
  /** The git dir of this worktree, with its HEAD and index. */
  readonly gitDir: string;
  /** The git dir that all worktrees share, with refs and objects. */
  readonly commonDir: string;
  /** The top of the working tree; null in a bare repository. */
  readonly worktree: string | null;
  readonly format: ObjectFormat;
  readonly refStorage: 'files' | 'reftable';
  /** The names in the [extensions] section, which every reader must understand. */
  readonly extensions: readonly string[];
};

/** Finds the repository that contains a folder, which may be in a worktree or submodule. */
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
 * Finds the repository of the current folder if it is the one where the work began, else the latter: an agent that
 * changes into a submodule or out of the repository for a moment still works where it began.
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
    return null; // the caller reports the other folder's error
  }
}

/** Finds the git dir of a folder: its `.git` folder, the target of its `.git` file, or the folder itself. */
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
  throw new OrchError('NOT_A_REPOSITORY', `${file} does not point to a repository (${target ?? 'empty'})`, {
    hint: 'If the worktree or its repository was moved, repair it with: git worktree repair',
    data: { folder },
  });
}

function isGitDir(folder: string): boolean {
  // HEAD may be a dangling link in a repository made by an old git.
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
    throw new OrchError('REPOSITORY_UNSUPPORTED', `the repository uses the object format ${format}`, {
      hint: 'orch supports sha1 and sha256; a newer orch may support more',
    });
  }
  refuseUnknown(config);
  // The search started inside .git itself, so the working tree is its parent.
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

/** The extensions that git itself understands. A repository with any other must not be written to. */
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
  const unknown = [...config.keys()].find(
    (key) => key.startsWith('extensions.') && !knownExtensions.includes(key.slice('extensions.'.length)),
  );
  const problem =
    version > 1 ? `has format version ${version}` : version === 1 && unknown ? `uses ${unknown}` : null;
  if (problem === null) return;
  const message = `the repository ${problem}, which this version of orch does not support`;
  throw new OrchError('REPOSITORY_UNSUPPORTED', message, {
    hint: 'Nothing was changed. Update orch and git.',
  });
}

/** Parses the plain `key = value` lines of a repository's own config, which is where git declares the format. */
function parseConfig(text: string): Map<string, string> {
  const values = new Map<string, string>();
  let section = '';
  for (const line of text.split('\n')) {
    const header = /^\s*\[([A-Za-z0-9.-]+)\]/.exec(line);
    if (header) section = header[1]?.toLowerCase() ?? '';
    else if (/^\s*\[/.test(line)) section = ''; // subsections do not declare the format
    const [setting = ''] = line.replace(/^\s*\[[^\]]*\]/, '').split(/[#;]/, 1);
    const [key = '', value = 'true'] = setting.split(/=(.*)/, 2).map((part) => part.trim());
    if (section !== '' && /^[A-Za-z][A-Za-z0-9-]*$/.test(key))
      values.set(`${section}.${key.toLowerCase()}`, value.toLowerCase());
  }
  return values;
}
