import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { askGit, runGit, withoutMonitor } from '../../git/run-git.ts';
import type { Orch } from '../../orch.ts';
import { orchestrationFile } from '../../orchestration-file/orchestration-file.ts';
import { type FileMark, markFile } from '../../system/file-facts.ts';

/*
 * What belongs to the user and a worker can reach: the config that all worktrees share, and the checkout beside its own.
 * It is looked at when a worker starts and when it ends. The user works there too, so a change proves nothing.
 */

/** The repository's own git config: each key with its values. */
export type LocalConfig = { readonly [key: string]: readonly string[] };

/** Reads the git config that all worktrees of a repository share. */
export async function readLocalConfig({ repository }: Pick<Orch, 'repository'>): Promise<LocalConfig> {
  const output = await runGit(repository, ['config', '--local', '--list', '--null']);
  const config: Record<string, string[]> = {};
  for (const entry of output.split('\0').filter(Boolean)) {
    const [key = '', ...value] = entry.split('\n');
    config[key] = [...(Object.hasOwn(config, key) ? (config[key] ?? []) : []), value.join('\n')];
  }
  return config;
}

/** Lists the keys of a config that were added, changed or removed. Their values may be secrets. */
export function compareConfig(before: LocalConfig, after: LocalConfig): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const valuesOf = (config: LocalConfig, key: string) =>
    Object.hasOwn(config, key) ? JSON.stringify(config[key]) : null;
  return keys.filter((key) => valuesOf(before, key) !== valuesOf(after, key));
}

/** The user's checkout at one moment. */
export type CheckoutState = {
  /** The commit and the branch of HEAD. */
  readonly head: string;
  /** What is not committed: how git lists it, and a mark that changes with the file. */
  readonly changed: { readonly [path: string]: string };
};

/** Looks at the user's checkout; null in a bare repository. */
export async function watchCheckout({ repository }: Pick<Orch, 'repository'>): Promise<CheckoutState | null> {
  if (repository.worktree === null) return null;
  const { worktree } = repository;
  const [head, listed] = await Promise.all([readHead(repository), listChanged(repository)]);
  const mark = (path: string): FileMark => markFile(join(worktree, path));
  return {
    head,
    changed: Object.fromEntries(listed.map(({ path, how }) => [path, `${how} ${mark(path)}`])),
  };
}

async function readHead(repository: Repository): Promise<string> {
  const [branch, commit] = await Promise.all([
    askGit(repository, ['symbolic-ref', '--quiet', '--short', 'HEAD']),
    askGit(repository, ['rev-parse', '--verify', '--quiet', 'HEAD']),
  ]);
  return `${branch.stdout.trim() || 'no branch'} at ${commit.stdout.trim().slice(0, 10) || 'no commit'}`;
}

/** What git lists as changed or new; the second path of a rename is a path of its own. */
async function listChanged(
  repository: Repository,
): Promise<{ readonly path: string; readonly how: string }[]> {
  const args = ['status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty'];
  const listed = (await runGit(repository, [...withoutMonitor, ...args])).split('\0').filter(Boolean);
  return listed
    .map((entry) => ({ how: entry.slice(0, 2), path: entry.slice(3) }))
    .filter(({ path }) => path !== orchestrationFile); // orch writes it
}

/** How many paths a sentence names. */
const shown = 5;

/** Says what changed in the user's checkout while a worker ran; null if nothing did. */
export function compareCheckout(before: CheckoutState | null, after: CheckoutState | null): string | null {
  if (before === null || after === null) return null;
  const paths = [...new Set([...Object.keys(before.changed), ...Object.keys(after.changed)])].sort();
  const of = ({ changed }: CheckoutState, path: string) =>
    Object.hasOwn(changed, path) ? changed[path] : undefined;
  const different = paths.filter((path) => of(before, path) !== of(after, path));
  const named = different.slice(0, shown).join(', ');
  const more = different.length > shown ? ` and ${different.length - shown} more` : '';
  const parts = [
    ...(before.head === after.head ? [] : [`HEAD was ${before.head} and is ${after.head}`]),
    ...(different.length === 0 ? [] : [`${named}${more}`]),
  ];
  if (parts.length === 0) return null;
  return `may have written outside its worktree: ${parts.join('; ')} changed in your checkout while it worked`;
}

/** Everything of the user's that is compared before and after a worker. */
export type UserState = { readonly config: LocalConfig; readonly checkout: CheckoutState | null };

export async function readUserState(orch: Pick<Orch, 'repository'>): Promise<UserState> {
  const [config, checkout] = await Promise.all([readLocalConfig(orch), watchCheckout(orch)]);
  return { config, checkout };
}

/** Says what changed between two looks, in sentences that continue the name of a task. */
export function compareUserState(before: UserState, after: UserState): string[] {
  const keys = compareConfig(before.config, after.config);
  const written = compareCheckout(before.checkout, after.checkout);
  return [
    ...(keys.length === 0 ? [] : [`the repository's git config changed while it worked: ${keys.join(', ')}`]),
    ...(written === null ? [] : [written]),
  ];
}
