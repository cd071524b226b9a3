import { afterTest } from './cleanup.ts';
import { orchJson, runOrch } from './orch.ts';
import type { TestRepository } from './repository.ts';

type Session = { readonly id: string; readonly number: number };

/** Ends what runs on this epic when the test is over, however it ends. */
export function endAfterwards(repository: TestRepository, epic: string): void {
  afterTest(() => runOrch(repository, ['session', 'pause', '-e', epic]));
}

/** A session that runs in the background until the test is over, without gates. */
export function startInBackground(
  repository: TestRepository,
  epic: string,
  ...options: readonly string[]
): Session {
  endAfterwards(repository, epic);
  const args = ['session', 'start', '-e', epic, '--background', '--no-baseline', ...options];
  return orchJson<{ session: Session }>(repository, args).session;
}
