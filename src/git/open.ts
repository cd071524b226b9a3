import { isInstalled } from '../system/spawn.ts';
import type { GitEngine } from './engine.ts';
import { type EnginePorts, openNativeEngine } from './native.ts';

export const engineChoices = ['auto', 'native', 'isomorphic'] as const;
export type EngineChoice = (typeof engineChoices)[number];

/** The engine asked for; `auto` is git where it is installed. */
export async function openEngine(choice: EngineChoice, ports: EnginePorts): Promise<GitEngine> {
  if (choice === 'native' || (choice === 'auto' && isInstalled('git'))) return openNativeEngine(ports);
  const { openIsomorphicEngine } = await import('./isomorphic.ts');
  return openIsomorphicEngine(ports);
}
