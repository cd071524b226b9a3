import { join } from 'node:path';
import { systemCode } from '../errors.ts';
import { isOwnFile } from '../system/process.ts';
import { isInstalled } from '../system/spawn.ts';
import type { GitEngine } from './engine.ts';
import { type EnginePorts, openNativeEngine } from './native.ts';
import { mayBePruned } from './object-hold.ts';
import type { Repository } from './repository.ts';

/** A repository of another user is used only if git would: it knows the user's `safe.directory`. */
async function askWhetherTrusted(repository: Repository): Promise<void> {
  const { gitDir, worktree } = repository;
  if ([gitDir, worktree ?? gitDir].every(isOwnFile)) return;
  const { runGit } = await import('./native-process.ts');
  await runGit(repository, ['rev-parse', '--git-dir']);
}

export const engineChoices = ['auto', 'native', 'isomorphic'] as const;
export type EngineChoice = (typeof engineChoices)[number];

/** The engine asked for; `auto` is git where it is installed. */
export async function openEngine(choice: EngineChoice, ports: EnginePorts): Promise<GitEngine> {
  if (choice === 'native' || (choice === 'auto' && isInstalled('git'))) {
    await askWhetherTrusted(ports.repository);
    return bringBackPruned(openNativeEngine(ports), ports);
  }
  const { openIsomorphicEngine } = await import('./isomorphic.ts');
  return bringBackPruned(openIsomorphicEngine(ports), ports);
}

/** After a prune, what it took from us is there again before the first git is started. */
async function bringBackPruned(git: GitEngine, { repository }: EnginePorts): Promise<GitEngine> {
  if (!mayBePruned(join(repository.commonDir, 'objects'))) return git;
  try {
    await git.bringBackObjects();
  } catch (error) {
    // Who may not write here can still read the rest; the next one who may brings it back.
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error;
  }
  return git;
}
