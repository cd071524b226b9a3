import { spentIn } from '../../cost/money.ts';
import { readAgentSession } from '../../ids.ts';
import { readLive } from '../../journal/live.ts';
import { hideFromAgent } from '../../notify/secret-names.ts';
import type { Orch } from '../../orch.ts';
import { isRaise } from '../../record/budget-rules.ts';
import { listSessions, type SessionCondition } from '../../record/sessions.ts';
import { readView } from '../../record/view.ts';
import { findDestination } from '../../record/which/which-session.ts';
import { superviseDetached } from '../../session/api/start-in-background.ts';
import { recordTo } from '../../session/calls.ts';
import { listOpenQuestions, type OpenQuestion } from '../../session/epic-status.ts';
import { stopSession } from '../../session/stop.ts';
import { budgetOf, readCurrent } from '../../state/current.ts';
import { findAgentHomes } from '../../supervise/agent-plan.ts';
import { findTranscript } from '../../supervise/conversation.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { EpicId, Micros, Millis, SessionId } from '../../types.ts';
import { formatMicros } from '../../units.ts';

/*
 * A worker is an agent in a session of its task's epic, under a supervisor of its own. The supervisor meters, checkpoints
 * and keeps the budget, whether or not the convoy's scheduler lives.
 */

export type WorkerState = {
  /** Null if none was started yet. */
  readonly session: SessionId | null;
  readonly condition: SessionCondition | null;
  /** Why it ended. */
  readonly reason: string | null;
  /** What the task has cost, all attempts together. */
  readonly spent: Micros;
  /** What it wants to know before it continues. */
  readonly questions: readonly OpenQuestion[];
  readonly startedAt: Millis | null;
};

/** Reads how the newest worker of a task is. */
export async function readWorker(orch: Orch, epic: EpicId): Promise<WorkerState> {
  const view = await readView(orch, epic);
  const newest = listSessions(view, orch.home).find(({ value }) => !value.forCalls);
  const exit = readCurrent(view.state, 'lastExit');
  const isKilled = exit?.session === newest?.id && exit?.signal === 'SIGKILL';
  // It died, or its agent was killed by something else than orch, and any command may have recovered it since: that is no
  // failure of its agent.
  const hasDied = newest?.condition === 'failed' && (newest.value.recovered === true || isKilled);
  return {
    session: newest?.id ?? null,
    condition: hasDied ? 'interrupted' : (newest?.condition ?? null),
    reason: newest?.value.reason ?? null,
    spent: spentIn(view.state.ledger),
    questions: listOpenQuestions(view.state).filter(({ waits }) => waits),
    startedAt: newest?.value.startedAt ?? null,
  };
}

/** Finds the file in which its agent keeps their conversation. */
export async function findWorkerTranscript(orch: Orch, epic: EpicId, cwd: string): Promise<string | null> {
  const { state } = await readView(orch, epic);
  const agent = readCurrent(state, 'agent');
  const session = readAgentSession(agent?.session);
  if (session === null || (agent?.name !== 'claude' && agent?.name !== 'codex')) return null;
  return findTranscript(agent.name, findAgentHomes(), cwd, session);
}

export function isWorking({ condition }: WorkerState): boolean {
  return condition === 'running' || condition === 'initializing';
}

type StartRequest = {
  readonly epic: EpicId;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** What it may spend, on top of what the task has cost so far; null for no limit. */
  readonly allowance: Micros | null;
  readonly spent: Micros;
  readonly resumes: boolean;
};

export async function startWorker(orch: Orch, request: StartRequest): Promise<void> {
  const { epic, argv, cwd, env, allowance, spent, resumes } = request;
  const limit = allowance === null ? null : spent + allowance;
  const { state } = await readView(orch, epic);
  // A session that is started from here counts as an agent's, which cannot raise a budget; the convoy's is the cap.
  if (isRaise(budgetOf(state), limit)) {
    const place = findDestination(orch, epic, await orch.readSettings(), null);
    await recordTo(orch, place, [{ kind: 'budget_set', limit }]);
  }
  const budget = limit === null ? null : formatMicros(limit); // rounded up, it would be a raise
  await superviseDetached(epic, {
    argv,
    cwd,
    env: { ...env, ...(await hideFromAgent(orch)) },
    budget,
    resumes,
  });
}

/** How often a worker is looked at: its live record is a small file. */
const lookEvery: Millis = 250;
/** How often its cost is read while it works, and what it has heard. */
const meterEvery: Millis = 3_000;

/** Waits until a worker's session has ended, or has taken longer than it may. `onLook` is called now and then meanwhile. */
export async function waitForWorker(
  orch: Orch,
  epic: EpicId,
  signal: AbortSignal,
  { onLook, limit }: { readonly onLook: () => Promise<void>; readonly limit: Millis | null },
): Promise<WorkerState> {
  let looked = orch.clock.elapsed();
  let waited: SessionId | null = null;
  for (;;) {
    const state = await readWorker(orch, epic);
    // Only a person who joins begins another session meanwhile, and may do so between two looks.
    if (waited !== null && state.session !== waited)
      return { ...state, session: waited, condition: 'paused', reason: joined };
    waited = state.session;
    if (!isWorking(state) || state.session === null || signal.aborted) return state;
    const { session, startedAt } = state;
    while (!signal.aborted && readLive(orch.home, session) !== null) {
      await sleepUnlessAborted(lookEvery, signal);
      if (limit !== null && startedAt !== null && orch.clock.now() - startedAt > limit) return state;
      if (orch.clock.elapsed() - looked < meterEvery) continue;
      looked = orch.clock.elapsed();
      await onLook();
      // A supervisor that died left its record.
      if (!isWorking(await readWorker(orch, epic))) break;
    }
    await sleepUnlessAborted(20, signal);
  }
}

/** Why a worker is paused that a person joins. */
export const joined = 'a person joined its conversation';

/** How long the way from the pause into the conversation may take: orch and the agent start. */
const longestWay: Millis = 30_000;

/** Waits until a person has left the conversation of a worker that was paused for them; null if none came. */
export async function waitForPerson(
  orch: Orch,
  epic: EpicId,
  signal: AbortSignal,
  { paused, onLook }: { readonly paused: SessionId | null; readonly onLook: () => Promise<void> },
): Promise<WorkerState | null> {
  let last = paused;
  let began = orch.clock.elapsed();
  while (!signal.aborted && orch.clock.elapsed() - began < longestWay) {
    const state = await readWorker(orch, epic);
    const hasCome = state.session !== last;
    if (!hasCome) {
      await sleepUnlessAborted(lookEvery, signal);
      continue;
    }
    const left = isWorking(state) ? await waitForWorker(orch, epic, signal, { onLook, limit: null }) : state;
    if (left.condition !== 'paused' || left.reason !== joined) return left;
    // They left, and come again.
    last = left.session;
    began = orch.clock.elapsed();
  }
  return null;
}

/** Pauses a worker, if it is at work; its supervisor makes a checkpoint first. */
export async function pauseWorker(orch: Orch, epic: EpicId, reason: string): Promise<void> {
  const { session } = await readWorker(orch, epic);
  const live = session === null ? null : readLive(orch.home, session);
  if (live !== null) await stopSession(orch, live, { want: 'pause', reason });
}
