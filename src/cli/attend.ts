import { exitStatuses } from '../errors.ts';
import { formatBaselineResult } from '../integration/baseline-view.ts';
import type { Orch } from '../orch.ts';
import type { Follower } from '../session/agent-follow.ts';
import { runBaseline } from '../session/baseline.ts';
import { makeUntold } from '../session/changes.ts';
import { briefPath } from '../session/handover.ts';
import { sessionMarker } from '../session/leftovers.ts';
import type { Started } from '../session/lifecycle.ts';
import { type End, type SupervisorEvent, supervise } from '../session/supervisor.ts';
import { type SignalWatch, statusOfSignal } from '../system/signals.ts';
import { sessionEnvironment } from './environment.ts';
import type { GateChoice } from './gates.ts';
import { figuresOf, type LiveLine, openLiveLine } from './live-line.ts';
import { writeTo } from './output.ts';
import type { Context } from './run.ts';
import type { SessionLog } from './session-log.ts';
import type { Call } from './spec.ts';
import { showEvent } from './start-view.ts';

/** Watches over a session until it ends, and shows on the terminal what happens. */
export async function attend(
  context: Context,
  orch: Orch,
  started: Started,
  call: Call,
  around: {
    readonly number: number;
    readonly signals: SignalWatch;
    readonly follower: Follower | null;
    /** Gates that run beside the work. */
    readonly beside: GateChoice | null;
    /** Where the command prints; the terminal, if null. */
    readonly log: SessionLog | null;
  },
): Promise<End> {
  const { out } = context;
  const { number, signals, beside, log, follower } = around;
  const { target, handover } = started;
  const hasTerminal = process.stdin.isTTY === true;
  const isQuiet = call.rest.length > 0 && hasTerminal && process.stderr.isTTY === true;
  const line = openLine(context, call);
  const startedAt = orch.clock.now();
  const tell = (text: string) => {
    line?.clear();
    out.tell(text);
  };
  const onEvent = (event: SupervisorEvent) => {
    if (event.kind === 'look') line?.show(figuresOf(event, { number, startedAt }, orch.clock.now()));
    const text = showEvent(out, event, orch.clock.now());
    // A program that draws on the terminal would be drawn over.
    if (text !== null && (!isQuiet || event.kind === 'warning' || event.kind === 'waiting')) tell(text);
  };
  const path = briefPath(orch.home, target.session);
  const place = { ...target, kind: 'running' as const };
  const end = await supervise(orch, target, {
    command:
      call.rest.length === 0
        ? null
        : {
            argv: follower?.argv ?? call.rest,
            cwd: context.cwd,
            env: sessionEnvironment(target.epic, target.session, path),
            marker: sessionMarker(target.session),
            onOutput: log && ((chunk) => log.write(chunk)),
          },
    brief: { path, text: (follower ? follower.briefText : handover?.quoted) ?? '' },
    follower,
    ...(call.rest.length > 0 && {
      readChanges: makeUntold(orch, target, started.stored?.checkpoint.snapshot ?? null),
    }),
    signals,
    hasTerminal,
    completes: call.options.complete === true,
    onEvent,
    ...(beside && {
      beside: async (signal) => {
        const { gates, worktree } = beside;
        const result = await runBaseline(orch, { place, gates, worktree, atStart: true, signal });
        if (!signal.aborted && (!isQuiet || !result.passed)) tell(formatBaselineResult(result));
      },
    }),
  });
  await log?.flush();
  line?.clear();
  return end;
}

function openLine({ json, out }: Context, call: Call): LiveLine | null {
  if (json || out.isQuiet || call.rest.length > 0 || process.stderr.isTTY !== true) return null;
  return openLiveLine(
    (text) => writeTo(2, text),
    () => process.stderr.columns || 80,
  );
}

/** The status orch ends with. */
export function statusOf({ why }: End): number {
  switch (why.kind) {
    case 'budget':
      return exitStatuses.BUDGET_EXCEEDED;
    case 'signal':
      return statusOfSignal(why.signal);
    case 'request':
      return 0;
    case 'blind':
      return exitStatuses.SYSTEM_LIMIT;
    case 'taken_over':
      return exitStatuses.SESSION_ACTIVE;
    case 'exit':
      return why.exit.signal ? statusOfSignal(why.exit.signal) : (why.exit.status ?? 1);
  }
}
