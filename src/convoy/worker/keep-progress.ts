import { checkLive, readLive } from '../../journal/live.ts';
import type { Orch } from '../../orch.ts';
import { record } from '../../record/record.ts';
import type { EpicId, Millis, SessionId } from '../../types.ts';
import { using } from '../../where.ts';

/**
 * A worker's files are saved once a minute while they change, whether or not its agent tells of what it does: collisions
 * are found in what is saved, and nothing depends on the worktree alone.
 */
const keepEvery: Millis = 60_000;

/** Returns a function that saves a worker's files if it is time and they have changed. */
export function makeKeeper(
  orch: Orch,
  epic: EpicId,
  worktree: string,
): (session: SessionId) => Promise<void> {
  let kept = orch.clock.elapsed();
  return async (session) => {
    const live = readLive(orch.home, session);
    if (live === null || checkLive(live) !== 'alive') return;
    const { policy } = live.settings;
    if (policy.interval === null || !live.settings.snapshot) return;
    if (orch.clock.elapsed() - kept < Math.min(keepEvery, policy.interval)) return;
    kept = orch.clock.elapsed();
    const target = { kind: 'running' as const, epic, session, settings: live.settings };
    const request = { trigger: 'interval', reason: null, onlyIfChanged: true, orLater: true } as const;
    // What cannot be saved now is saved the next time, or by the worker's own supervisor.
    await using({ cwd: worktree }, (there) => record(there, target, [], request)).catch((error: unknown) =>
      orch.report(
        `the work of ${epic} could not be saved yet: ${error instanceof Error ? error.message : error}`,
      ),
    );
  };
}
