import { join } from 'node:path';
import { systemCode } from '../errors.ts';
import { isOwnFile } from '../system/process/identity.ts';
import { isInstalled } from '../system/process/spawn.ts';
import type { EnginePorts, GitEngine } from './engine.ts';
import { openNativeEngine } from './native.ts';
import { mayBePruned } from './objects/held-objects.ts';
import type { Repository } from './repository.ts';

/** Refuses another user's repository unless git accepts it: git knows the user's `safe.directory`. */
async function refuseUntrusted(repository: Repository): Promise<void> {
  const { gitDir, worktree } = repository;
  if ([gitDir, worktree ?? gitDir].every(isOwnFile)) return;
  const { runGit } = await import('./native-process.ts');
  await runGit(repository, ['rev-parse', '--git-dir']);
}

export const engineChoices = ['auto', 'native', 'isomorphic'] as const;
export type EngineChoice = (typeof engineChoices)[number];

/** Opens the requested engine; `auto` uses git if it is installed. */
export async function openEngine(choice: EngineChoice, ports: EnginePorts): Promise<GitEngine> {
  if (choice === 'native' || (choice === 'auto' && isInstalled('git'))) {
    await refuseUntrusted(ports.repository);
    return restoreAfterPrune(openNativeEngine(ports), ports);
  }
  const { openIsomorphicEngine } = await import('./isomorphic.ts');
  return restoreAfterPrune(openIsomorphicEngine(ports), ports);
}

/** Restores pruned objects before the first git starts. */
async function restoreAfterPrune(git: GitEngine, { repository }: EnginePorts): Promise<GitEngine> {
  if (!mayBePruned(join(repository.commonDir, 'objects'))) return git;
  try {
    await git.restorePrunedObjects();
  } catch (error) {
    // Without write access everything else can still be read; the next process with access restores them.
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '')) throw error;
  }
  return git;
}
