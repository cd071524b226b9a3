import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { readView } from '../session/context.ts';
import { describeSession, listSessions } from '../session/fate.ts';
import { completeEnded } from '../session/lifecycle.ts';
import { recoverInterrupted } from '../session/recover.ts';
import { findRunningToEnd } from '../session/resolve.ts';
import { describeEpic } from '../session/status.ts';
import { stopSession } from '../session/stop.ts';
import type { NamedProcess } from '../system/process-table.ts';
import type { EpicId } from '../types.ts';
import { showNotSaved, showTitle } from './checkpoint-view.ts';
import { chooseEpic, viewEpic } from './choose.ts';
import { suggestNext } from './next.ts';
import { listLeftOut, refuseWithoutCode } from './not-saved.ts';
import type { Context } from './run.ts';
import { markOf } from './session-view.ts';
import { type Call, textOf } from './spec.ts';
import { tellTakeover } from './start-report.ts';
import { showLeft } from './start-view.ts';

/** Ends the running session; a session that is over can still be called done. */
export async function runEnd(
  context: Context,
  orch: Orch,
  call: Call,
  want: 'pause' | 'complete',
): Promise<number> {
  const reason = textOf(call, 'reason') ?? null;
  const epic = await chooseEpic(context, orch, textOf(call, 'epic'), false);
  const before = await viewEpic(context, orch, epic);
  const live = findRunningToEnd(orch, epic, context.settings.session, want);
  const interrupted = listSessions(before, orch.home).find(({ fate }) => fate === 'interrupted');
  let left: readonly NamedProcess[] = [];
  if (live) left = await stopSession(orch, live, { want, reason });
  else if (interrupted) {
    await recoverInterrupted(orch, epic, await orch.readSettings());
    if (want === 'complete') await completeEnded(orch, epic, await orch.readSettings(), reason);
  } else if (want === 'complete') {
    const outcome = await completeEnded(orch, epic, await orch.readSettings(), reason);
    if (outcome === null) context.out.tell(`${epic} is completed already; nothing was changed`);
  } else throw nothingRuns(epic);
  if (left.length > 0) context.out.tell(showLeft(context.out, left));
  return showEnded(context, orch, epic, live?.session ?? interrupted?.id ?? null);
}

function nothingRuns(epic: EpicId): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `no session is running on ${epic} here`, {
    hint: `See where it stands with: orch session status -e ${epic}`,
    data: { epicId: epic },
  });
}

async function showEnded(context: Context, orch: Orch, epic: EpicId, id: string | null): Promise<number> {
  const view = await readView(orch, epic);
  const sessions = listSessions(view, orch.home);
  const session = sessions.find((known) => known.id === id) ?? sessions[0] ?? null;
  const status = describeEpic(view, orch.home, orch.clock.now());
  const { checkpoint, budget } = status;
  const { out, json, cwd } = context;
  // Another session may have made the newest one.
  const isOwn = view.saved !== null && view.saved.document.sessionId === session?.id;
  const made = isOwn && checkpoint ? { checkpoint, document: view.saved.document } : null;
  if (json) {
    if (made) refuseWithoutCode(made);
    const described = session && describeSession(view, session);
    const leftOut = made ? await listLeftOut(orch, made.document) : [];
    out.print(
      JSON.stringify({ session: described, checkpoint, budget, baseline: null, brief: null, leftOut }),
    );
  } else {
    if (session) out.print(`${markOf(session.fate)}: session ${session.value.number} of ${epic}`);
    if (checkpoint) out.print(showTitle(out, checkpoint, '◆ '));
    if (made && checkpoint?.snapshot) for (const line of showNotSaved(out, checkpoint)) out.tell(`  ${line}`);
    const takenOver = session && tellTakeover({ epic, session: session.id }, view.state);
    if (takenOver) out.tell(`  ${out.paint('yellow', takenOver)}`);
    const next = suggestNext(view, status, { cwd, worktree: orch.repository.worktree });
    out.tell(`  Continue  ${next ?? `orch resume -e ${epic}`}`);
    if (made) refuseWithoutCode(made);
  }
  return 0;
}
