import type { Checkpoint } from '../checkpoint/list.ts';
import { approve, isApproved } from '../config/trust.ts';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { rememberEpic } from '../record/which/last-used.ts';
import { isFromInside } from '../record/which/origin.ts';
import type { Destination } from '../record/which/which-session.ts';
import { loadNamedSession, type SessionName } from '../session/find-session.ts';
import { using, type Where } from '../where.ts';
import type { BaselineResult, Gate } from './gate.ts';
import { type Baseline, listGates, runBaseline as runIn } from './run-baseline.ts';
import type { GateProgress } from './run-gates.ts';

export type BaselineOptions = {
  /** The repository's own by default. */
  readonly gates?: readonly Gate[];
  readonly onProgress?: (progress: GateProgress) => void;
  readonly signal?: AbortSignal;
};

/** Runs the gates, and records the results for exactly the files they ran on. */
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
    const place = await loadNamedSession(orch, session);
    return runIn(orch, { ...options, place, worktree, gates, atStart: false });
  });
}

/**
 * Lists the repository's gates, and approves them in this clone if a person is about to run them. An agent can't approve
 * anything: approved gates run automatically in the user's name.
 */
export async function approveGates(
  orch: Orch,
  { byAgent }: { readonly byAgent: boolean },
): Promise<readonly Gate[]> {
  const { worktree } = orch.repository;
  if (worktree === null)
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files to run gates on', {
      hint: 'Run it in a working tree',
    });
  const gates = listGates(await orch.readConfig(), worktree);
  const isByHand = !byAgent && !isFromInside(orch.home);
  if (isByHand && !isApproved(orch.home, gates)) await approve(orch, gates);
  return gates;
}

/** Runs gates, and records the results in the caller's session. */
export async function runGatesIn(
  orch: Orch,
  place: Destination,
  gates: readonly Gate[],
  options: Pick<BaselineOptions, 'onProgress' | 'signal'>,
): Promise<BaselineResult & { readonly isBound: boolean; readonly checkpoint: Checkpoint | null }> {
  const worktree = orch.repository.worktree ?? '';
  const { tree, outcome, ...result } = await runIn(orch, {
    ...options,
    place,
    worktree,
    gates,
    atStart: false,
  });
  if (outcome) await rememberEpic(orch, place.epic);
  return { ...result, isBound: tree !== null, checkpoint: outcome?.stored?.checkpoint ?? null };
}
