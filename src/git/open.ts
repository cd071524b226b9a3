import { isOwnFile } from '../system/process.ts';
import { isInstalled } from '../system/spawn.ts';
import type { GitEngine } from './engine.ts';
import { type EnginePorts, openNativeEngine } from './native.ts';
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
    return openNativeEngine(ports);
  }
  const { openIsomorphicEngine } = await import('./isomorphic.ts');
  return openIsomorphicEngine(ports);
}
