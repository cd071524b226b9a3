import { readView } from '../session/context.ts';
import { type Ending, endSession } from '../session/lifecycle.ts';
import { removeLive } from '../session/live.ts';
import { record, type SessionPorts } from '../session/record.ts';
import type { Reason } from '../session/watch.ts';
import { describeLeft, type NamedProcess } from '../system/process-table.ts';
import { count } from '../units.ts';
import { sayHead } from './beginning.ts';
import { listTasks, type RunResult, type RunStatus } from './progress.ts';
import type { Trouble, Work } from './work.ts';

/** How a run stands when it ends: one that was stopped before its end is to be resumed. */
function judgeRun(work: Work, troubles: readonly Trouble[], why: Reason): RunStatus {
  const kinds = new Set(troubles.map(({ end }) => end.kind));
  const isOpen = listTasks(work.run.plan, work).some(({ status }) => ['pending', 'running'].includes(status));
  if (kinds.has('held') || (why.kind !== 'exit' && isOpen)) return 'resume_needed';
  if (kinds.has('blocked')) return 'blocked';
  if (!kinds.has('failed')) return 'succeeded';
  // A task that is refused for want of money fails of it, sooner than it can be stopped: with more it may succeed.
  return why.kind === 'budget' ? 'resume_needed' : 'failed';
}

/** The last facts of a run and of its session, and its last checkpoint. */
export async function concludeRun(
  ports: SessionPorts,
  work: Work,
  troubles: readonly Trouble[],
  why: Reason,
  left: readonly NamedProcess[],
): Promise<RunResult> {
  const { run, target, tasks, effects } = work;
  const status = judgeRun(work, troubles, why);
  const reason = describeEnd(work, troubles, why, status) + describeLeft(left);
  const fact = sayHead(run, target.session, { status, endedAt: ports.clock.now() });
  if (why.kind === 'budget') {
    // The session reads budget_exceeded already; what was still done on the way out is kept too.
    const ask = { trigger: 'budget', reason, onlyIfChanged: true } as const;
    await record(ports, target, [fact], ask);
    removeLive(ports.disk, ports.home, target.session);
  } else if (why.kind !== 'taken_over') {
    await endSession(ports, target, endingOf(why, status), reason, { lastFacts: [fact] });
  }
  const { saved } = await readView(ports, target.epic);
  return {
    status,
    why,
    reason: status === 'succeeded' ? null : reason,
    tasks,
    effects,
    saved: saved?.document.seq ?? null,
  };
}

function endingOf(why: Reason, status: RunStatus): Ending {
  if (why.kind === 'request') return why.request.want;
  if (why.kind === 'blind') return 'fail';
  if (status === 'succeeded') return 'complete';
  return status === 'resume_needed' ? 'pause' : 'fail';
}

function describeEnd({ run }: Work, troubles: readonly Trouble[], why: Reason, status: RunStatus): string {
  const { name, tasks } = run.plan;
  if (status === 'succeeded') return `${name}: ${count(tasks.length, 'task')} done`;
  const [first] = troubles;
  if (first && (why.kind === 'exit' || status !== 'resume_needed')) {
    const what = { failed: 'failed', blocked: 'is blocked', held: 'cannot go on now' }[first.end.kind];
    return `${name}: task ${first.task.number} (${first.task.id}) ${what}: ${first.end.reason}`;
  }
  switch (why.kind) {
    case 'signal':
      return `${name}: stopped by ${why.signal}`;
    case 'request':
      return why.request.reason ?? `${name}: ended from another shell`;
    case 'budget':
      return `${name}: stopped, the budget is used up`;
    case 'blind':
      return `${name}: stopped, orch could not look after it: ${why.problem}`;
    case 'taken_over':
      return `${name}: taken over by another session`;
    case 'exit':
      return `${name}: stopped`;
  }
}
