import { OrchError } from '../errors.ts';
import { formatBaselineResult } from '../integration/baseline-view.ts';
import type { GateProgress } from '../integration/harness.ts';
import { approve, isApproved } from '../integration/trust.ts';
import { listGates, runBaseline } from '../session/baseline.ts';
import { isFromInside } from '../session/origin.ts';
import { onSignals, statusOfSignal } from '../system/signals.ts';
import { showTitle } from './checkpoint-view.ts';
import { choosePlace, epicOption, rememberEpic } from './choose.ts';
import { type Context, runCommands } from './run.ts';
import { type CommandSpec, textOf } from './spec.ts';

export const baselineSpec: CommandSpec = {
  name: 'baseline',
  summary: 'run the gates, and approve them in this clone',
  description:
    'Run the gates (tests, typecheck, lint, build). Running them by hand approves them in this clone.',
  options: [epicOption('the epic the results are recorded for')],
  examples: ['orch baseline', 'orch baseline --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const { worktree } = orch.repository;
      if (worktree === null)
        throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files to run gates on', {
          hint: 'Run it in a working tree',
        });
      const gates = listGates(await orch.readConfig(), worktree);
      // An agent that runs them approves nothing: what is approved runs by itself in the user's name.
      const isByHand = !context.settings.byAgent && !isFromInside(orch.home);
      if (isByHand && !isApproved(orch.home, gates)) await approve(orch.disk, orch.home, gates, orch.random);
      const { out, json } = context;
      if (gates.length === 0) {
        out.print(
          json
            ? JSON.stringify({ passed: true, gates: [] })
            : formatBaselineResult({ passed: true, gates: [] }),
        );
        return 0;
      }
      const place = await choosePlace(context, orch, textOf(call, 'epic'));
      const stop = new AbortController();
      let stoppedBy: NodeJS.Signals | null = null;
      const off = onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => {
        stoppedBy = signal;
        stop.abort();
      });
      const onProgress = (progress: GateProgress) => tellProgress(context, progress);
      const result = await runBaseline(orch, {
        place,
        worktree,
        gates,
        atStart: false,
        onProgress,
        signal: stop.signal,
      }).finally(off);
      if (stoppedBy !== null) {
        out.tell(`orch: the gates were interrupted (${stoppedBy}); nothing is recorded of them`);
        return statusOfSignal(stoppedBy);
      }
      const { passed, outcome } = result;
      const shown = result.gates.map(({ name, status, durationMs, output, fixed }) => {
        return { name, status, durationMs, output, fixed };
      });
      if (json) out.print(JSON.stringify({ passed, gates: shown }));
      else {
        out.print(formatBaselineResult(result));
        if (outcome?.stored) out.print(showTitle(out, outcome.stored.checkpoint, '◆ '));
      }
      if (result.tree === null) out.tell(unboundWarning);
      if (outcome) await rememberEpic(orch, place.epic);
      if (passed) return 0;
      const red = result.gates.filter(({ status }) => status === 'failed' || status === 'timed_out');
      throw new OrchError('GATE_FAILED', `${red.map(({ name }) => name).join(', ')}: red`, {
        hint: 'The end of what they printed is above, and more of it in: orch checkpoint show --json',
        data: { gates: red.map(({ name }) => name) },
      });
    }),
};

const unboundWarning =
  'orch: files changed while the gates ran, or cannot be read: what they said is true of no checkpoint (gates: unknown)';

function tellProgress({ out, json }: Context, progress: GateProgress): void {
  if (json || process.stderr.isTTY !== true) return;
  if (progress.phase === 'started') out.tell(out.paint('dim', `… ${progress.name}`));
  if (progress.phase === 'fixing') out.tell(out.paint('dim', `… ${progress.name}: fixing`));
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [baselineSpec]);
}
