import type { Gate } from '../integration/gate.ts';
import { isApproved } from '../integration/trust.ts';
import type { Orch } from '../orch.ts';
import { listGates } from '../session/baseline.ts';
import type { Context } from './run.ts';
import type { Call } from './spec.ts';

export type GateChoice = { readonly gates: readonly Gate[]; readonly worktree: string };

/**
 * The gates that run by themselves at the start of a session; none that the user has not approved in this clone.
 * `skipped` where there are gates and they do not run, null where there are none.
 */
export async function chooseGates(
  context: Context,
  orch: Orch,
  call: Call,
): Promise<GateChoice | 'skipped' | null> {
  const { worktree } = orch.repository;
  if (worktree === null) return null;
  const isWanted = !call.options['no-baseline'];
  if (!isWanted && !call.options['require-green']) return null; // nothing asks for them
  const gates = listGates(await orch.readConfig(), worktree);
  if (gates.length === 0) return null;
  if (!isWanted) return 'skipped';
  const names = gates.map(({ name }) => name).join(', ');
  const { out, settings, json } = context;
  if (settings.trusted || isApproved(orch.home, gates)) {
    if (!json) out.tell(out.paint('dim', `      Gates: ${names}.`));
    return { gates, worktree };
  }
  if (!json)
    out.tell(out.paint('dim', `      Gates (${names}) are skipped until you approve them: orch baseline`));
  return 'skipped';
}
