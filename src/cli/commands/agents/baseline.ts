import { OrchError } from '../../../errors.ts';
import {
  approveGates,
  catchSignals,
  formatBaselineResult,
  type GateProgress,
  runGatesIn,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { answer, type Context, defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { showTitle } from '../../views/checkpoint-view.ts';

export const command = defineCommand({
  summary: 'run the gates, and approve them in this clone',
  description:
    'Run the gates (tests, typecheck, lint, build). Running them yourself approves them in this clone.',
  options: [epicOption('the epic to record the results for')],
  examples: ['orch baseline', 'orch baseline --json'],
  run: inRepository(async (context, orch, call) => {
    const { out, json, settings } = context;
    const gates = await approveGates(orch, settings);
    if (gates.length === 0) {
      const none = { passed: true, gates: [] };
      return answer(context, none, () => formatBaselineResult(none));
    }
    const place = await choosePlace(context, orch, readText(call, 'epic'));
    const signals = catchSignals();
    const onProgress = (progress: GateProgress) => printProgress(context, progress);
    const result = await runGatesIn(orch, place, gates, { onProgress, signal: signals.aborted }).finally(
      signals.release,
    );
    const stoppedBy = signals.caught()?.signal ?? null;
    if (stoppedBy !== null) {
      out.inform(`orch: the gates were interrupted (${stoppedBy}); nothing was recorded`);
      return statusOfSignal(stoppedBy);
    }
    const { passed, checkpoint } = result;
    const shown = result.gates.map(({ name, status, durationMs, output, fixed }) => {
      return { name, status, durationMs, output, fixed };
    });
    if (json) printJson(out, { passed, gates: shown });
    else {
      out.print(formatBaselineResult(result));
      if (checkpoint) out.print(showTitle(out, checkpoint, '◆ '));
    }
    if (!result.isBound) out.inform(unboundWarning);
    if (passed) return;
    const red = result.gates.filter(({ status }) => status === 'failed' || status === 'timed_out');
    throw new OrchError('GATE_FAILED', `${red.map(({ name }) => name).join(', ')} failed`, {
      hint: 'The end of the output is above. More of it: orch checkpoint show --json',
      data: { gates: red.map(({ name }) => name) },
    });
  }),
});

const unboundWarning =
  'orch: files changed while the gates ran, or cannot be read, so the result applies to no checkpoint (gates: unknown)';

function printProgress({ out, json }: Context, progress: GateProgress): void {
  if (json || process.stderr.isTTY !== true) return;
  if (progress.phase === 'started') out.inform(out.paint('dim', `… ${progress.name}`));
  if (progress.phase === 'fixing') out.inform(out.paint('dim', `… ${progress.name}: fixing`));
}
