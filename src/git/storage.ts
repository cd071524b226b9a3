import { parseOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { finished, gitFailed, runGit, startGit } from './spawn.ts';

/* What git knows of its own storage: the room that objects take, whether all are there, and how it is set up. */

/**
 * The bytes on disk of what can be reached from some commits and not from others; null where git cannot tell, because
 * it is too old or something is missing.
 */
export async function measureReachable(
  repository: Repository,
  from: readonly Oid[],
  without: readonly Oid[],
): Promise<number | null> {
  if (from.length === 0) return 0;
  const args = ['rev-list', '--objects', '--disk-usage', '--ignore-missing', '--stdin'];
  const { status, stdout } = await askAbout(repository, args, from, without);
  return status === 0 && /^\d+\s*$/.test(stdout) ? Number(stdout) : null;
}

/**
 * What is missing or broken below some commits, as git says it; null where all of it is there. So many commits are
 * followed, or each one `alone`, without its parents.
 */
export async function findBrokenLink(
  repository: Repository,
  from: readonly Oid[],
  without: readonly Oid[],
  followed?: number | 'alone',
): Promise<string | null> {
  if (from.length === 0) return null;
  // What a partial clone left out on purpose is not missing.
  const promised = repository.extensions.includes('partialclone') ? ['--exclude-promisor-objects'] : [];
  const most = followed === undefined ? [] : [followed === 'alone' ? '--no-walk' : `--max-count=${followed}`];
  const args = ['rev-list', '--objects', '--quiet', ...promised, ...most, '--stdin'];
  const { status, stderr } = await askAbout(repository, args, from, without);
  if (status === 0) return null;
  const said = stderr.split('\n').filter((line) => /^(fatal|error):/.test(line));
  return (said.at(-1) ?? `git rev-list ended with ${status}`).replace(/^(fatal|error): /, '');
}

/** Which of these objects are not here. */
export async function findMissing(repository: Repository, oids: Iterable<string>): Promise<string[]> {
  const args = ['cat-file', '--batch-check'];
  const wanted = [...new Set(oids)];
  if (wanted.length === 0) return [];
  const text = await runGit(repository, args, wanted.map((oid) => `${oid}\n`).join(''));
  return [...text.matchAll(/^([0-9a-f]+) missing$/gm)].map(([, oid = '']) => oid);
}

async function askAbout(
  repository: Repository,
  args: readonly string[],
  from: readonly Oid[],
  without: readonly Oid[],
) {
  const child = startGit(repository, args);
  child.stdin.end(`${[...from, ...without.map((oid) => `^${oid}`)].join('\n')}\n`);
  return finished(child);
}

/** `git version 2.39.5` → `2.39.5`. */
export async function askVersion(repository: Repository): Promise<string> {
  return (await runGit(repository, ['version'])).replace(/^git version /, '').trim();
}

/** The user's git settings, from all files, by name in small letters; the last one holds. */
export async function readGitConfig(repository: Repository): Promise<ReadonlyMap<string, string>> {
  const args = ['config', '--list', '--null', '--show-scope'];
  const child = startGit(repository, args);
  child.stdin.end();
  const result = await finished(child);
  if (result.status !== 0) throw gitFailed(args, result);
  const fields = result.stdout.split('\0');
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    // What this very git was told by orch is not the user's.
    if (fields[at] === 'command') continue;
    const [name = '', ...value] = (fields[at + 1] ?? '').split('\n');
    settings.set(name, value.join('\n'));
  }
  return settings;
}

/** The commits that no ref leads to. It reads the whole repository: for the day a ref is lost. */
export async function listUnreachableCommits(repository: Repository): Promise<Oid[]> {
  const args = ['fsck', '--connectivity-only', '--unreachable', '--no-reflogs', '--no-progress'];
  const child = startGit(repository, args);
  child.stdin.end();
  // Its status also tells of what is broken, which is why it is asked.
  const { stdout } = await finished(child);
  return [...stdout.matchAll(/^unreachable commit ([0-9a-f]+)$/gm)].map(([, oid = '']) => parseOid(oid));
}
