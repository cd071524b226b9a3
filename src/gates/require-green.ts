import { isApproved } from '../config/trust.ts';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { findDestination } from '../record/which/which-session.ts';
import type { EpicId } from '../types.ts';
import type { BaselineResult } from './gate.ts';
import { listGates, runBaseline } from './run-baseline.ts';

/** Runs the gates and throws GATE_FAILED unless they are green. `onResult` gets the result either way. */
export async function requireGreen(
  orch: Orch,
  epic: EpicId,
  {
    isTrusted,
    onResult,
  }: { readonly isTrusted: boolean; readonly onResult: (result: BaselineResult) => void },
): Promise<void> {
  const { worktree } = orch.repository;
  const gates = worktree === null ? [] : listGates(await orch.readConfig(), worktree);
  if (worktree === null || gates.length === 0)
    throw notGreen(
      'there are no gates here, so nothing shows that the code is ready',
      [],
      'List some under gates: in .orchestration/config.yaml, or run the same command without --require-green',
    );
  if (!isTrusted && !isApproved(orch.home, gates))
    throw notGreen(
      'the gates are not approved in this clone, so they did not run',
      [],
      'Run them yourself, which approves them: orch baseline',
    );
  const place = findDestination(orch, epic, await orch.readSettings(), null);
  const result = await runBaseline(orch, { place, gates, worktree, atStart: false });
  onResult(result);
  const red = result.gates.filter(({ status }) => status !== 'passed').map(({ name }) => name);
  const areSkipped = result.gates.every(({ status }) => status === 'skipped');
  if (result.passed && !areSkipped) return;
  throw notGreen(
    areSkipped
      ? 'every gate was skipped; nothing was started'
      : `the gates are red: ${red.join(', ')}; nothing was started`,
    red,
    'Fix what they report, or run the same command without --require-green',
  );
}

function notGreen(message: string, gates: readonly string[], hint: string): OrchError {
  return new OrchError('GATE_FAILED', message, { hint, data: { gates } });
}
