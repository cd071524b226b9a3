import { OrchError } from '../errors.ts';
import type { Gate } from '../integration/gate.ts';
import type { GateProgress } from '../integration/harness.ts';
import { type Baseline, listGates, runBaseline as runIn } from '../session/baseline.ts';
import { findTarget, type SessionName } from './sessions.ts';
import { using, type Where } from './where.ts';

export type BaselineOptions = {
  /** Those of the repository by default. */
  readonly gates?: readonly Gate[];
  readonly onProgress?: (progress: GateProgress) => void;
  readonly signal?: AbortSignal;
};

/** Runs the gates, and records in a session what they said of exactly the files they ran on. */
export async function runBaseline(
  session: SessionName,
  options: BaselineOptions = {},
  where: Where = {},
): Promise<Baseline> {
  return using(where, async (orch) => {
    const { worktree } = orch.repository;
    if (worktree === null)
      throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files to run gates on');
    const gates = options.gates ?? listGates(await orch.readConfig(), worktree);
    const place = { ...(await findTarget(orch, session)), kind: 'running' as const };
    return runIn(orch, { ...options, place, worktree, gates, atStart: false });
  });
}
