import { OrchError } from '../errors.ts';
import { formatBaselineResult } from '../integration/baseline-view.ts';
import { isApproved } from '../integration/trust.ts';
import type { Orch } from '../orch.ts';
import { listGates, runBaseline } from '../session/baseline.ts';
import { placeFor } from '../session/here.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run.ts';

/** The readiness gate of a run: nothing of it begins, and no effect is planned, unless the gates are green. */
export async function requireGreen(
  { out, json, settings }: Context,
  orch: Orch,
  epic: EpicId,
): Promise<void> {
  const { worktree } = orch.repository;
  const gates = worktree === null ? [] : listGates(await orch.readConfig(), worktree);
  if (worktree === null || gates.length === 0)
    throw notGreen(
      'there are no gates here, so nothing says that it is ready',
      [],
      'Name some in .orchestration/config.yaml (gates:), or run the plan without --require-green',
    );
  if (!settings.trusted && !isApproved(orch.home, gates))
    throw notGreen(
      'the gates are not approved in this clone, so they did not run',
      [],
      'Run them by hand, which approves them: orch baseline',
    );
  const place = placeFor(orch, epic, await orch.readSettings(), null);
  const result = await runBaseline(orch, { place, gates, worktree, atStart: false });
  if (!json) out.tell(formatBaselineResult(result));
  const red = result.gates.filter(({ status }) => status !== 'passed').map(({ name }) => name);
  const areSkipped = result.gates.every(({ status }) => status === 'skipped');
  if (result.passed && !areSkipped) return;
  throw notGreen(
    areSkipped
      ? 'every gate was skipped; nothing was begun'
      : `the gates are red: ${red.join(', ')}; nothing was begun`,
    red,
    'Fix what they report, or run the plan without --require-green',
  );
}

function notGreen(message: string, gates: readonly string[], hint: string): OrchError {
  return new OrchError('GATE_FAILED', message, { hint, data: { gates } });
}
