import { basename, resolve } from 'node:path';
import { exitStatuses } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { refuseOverBudget } from '../session/budget.ts';
import { readView } from '../session/context.ts';
import { describeTakeover, findTakeover } from '../session/fate.ts';
import type { Started } from '../session/lifecycle.ts';
import { describeEpic } from '../session/status.ts';
import type { End } from '../session/supervisor.ts';
import { budgetOf } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { statusOf } from './attend.ts';
import { showNotSaved } from './checkpoint-view.ts';
import { listLeftOut, refuseWithoutCode } from './not-saved.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';
import { showEnd } from './start-view.ts';

/** Where the epic of a session stands. */
export async function describeNow(orch: Orch, { target }: Started) {
  const { session, checkpoint, budget } = describeEpic(
    await readView(orch, target.epic),
    orch.home,
    orch.clock.now(),
  );
  return { session, checkpoint, budget };
}

/** Whoever worked on while another clone took the session over learns of it at the latest now. */
export function tellTakeover(
  { epic, session: id }: Pick<Started['target'], 'epic' | 'session'>,
  state: State,
): string | null {
  const value = lookUp(state.sessions, id)?.value;
  const taker = value ? findTakeover({ id, value }, state) : null;
  return value && taker ? describeTakeover(epic, value.number, taker) : null;
}

/** Says how a session ended, in words and in the file that was asked for; returns the exit status. */
export async function report(
  { out, json, cwd }: Context,
  orch: Orch,
  end: End,
  around: {
    readonly started: Started;
    readonly number: number;
    readonly call: Call;
    readonly brief: string | null;
  },
): Promise<number> {
  const { started, number, call, brief } = around;
  const { epic } = started.target;
  const now = await describeNow(orch, started);
  const name = basename(call.rest[0] ?? 'orch');
  const latest = now.checkpoint?.seq ?? null;
  const { saved, state } = await readView(orch, epic);
  const takenOver = tellTakeover(started.target, state);
  if (!json) for (const line of showEnd(out, end, { epic, number, name, latest, takenOver })) out.tell(line);
  // Another session may have made the newest one.
  const isOwn = saved?.document.sessionId === started.target.session;
  const made = isOwn && now.checkpoint ? { checkpoint: now.checkpoint, document: saved.document } : null;
  if (made && !json) for (const line of showNotSaved(out, made.checkpoint)) out.tell(`  ${line}`);
  const file = textOf(call, 'result');
  // What the command ended with says more than that its code is not saved, where that was no success.
  const isWithoutCode = made?.document.snapshotFailed !== undefined && statusOf(end) === 0;
  const status = isWithoutCode ? exitStatuses.SNAPSHOT_FAILED : statusOf(end);
  if (file !== undefined) {
    const { writeResult } = await import('./result-file.ts');
    const left = end.stopped?.left ?? [];
    const still = left.length > 0 && { stillRunning: left };
    await writeResult(orch, resolve(cwd, file), epic, {
      ...now,
      baseline: null,
      brief,
      exit: status,
      leftOut: made ? await listLeftOut(orch, made.document) : [],
      ...still,
    });
  }
  if (made && isWithoutCode) refuseWithoutCode(made);
  // What happened is in words above it, where nobody asked for JSON.
  if (json && status === exitStatuses.BUDGET_EXCEEDED) refuseOverBudget(epic, state, budgetOf(state));
  return status;
}
