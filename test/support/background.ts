import { afterEach } from 'vitest';
import { orchJson, runOrch } from './orch.ts';
import type { TestRepository } from './repository.ts';

type Session = { readonly id: string; readonly number: number };
const started: { readonly repository: TestRepository; readonly epic: string }[] = [];

// Before the folders are removed: hooks run in the reverse order of their registration.
afterEach(() => {
  for (const { repository, epic } of started.splice(0)) runOrch(repository, ['session', 'pause', '-e', epic]);
});

/** Ends what runs on this epic when the test is over, however it ends. */
export function endAfterwards(repository: TestRepository, epic: string): void {
  started.push({ repository, epic });
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
