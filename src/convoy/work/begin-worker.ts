import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { openWorktree } from '../../git/worktree/own-worktrees.ts';
import { nameFile } from '../../ids.ts';
import { journalFolder } from '../../journal/read.ts';
import type { Orch } from '../../orch.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import {
  formatMessages,
  listUnheard,
  type Message,
  messagesFolder,
  noteHeard,
} from '../../session/messages.ts';
import { findAgentHomes } from '../../supervise/agent-plan.ts';
import { makeFolder, writeAtomically } from '../../system/disk.ts';
import type { EpicId } from '../../types.ts';
import { beginMerge } from '../merge/pending-merge.ts';
import { taskBranch } from '../names.ts';
import { chooseModel } from '../route/choose-model.ts';
import { makeAgentCommand } from '../worker/agent-command.ts';
import { formatPrompt } from '../worker/describe-task.ts';
import { waitForProvider } from '../worker/wait-for-provider.ts';
import {
  findWorkerTranscript,
  isWorking,
  readWorker,
  startWorker,
  type WorkerState,
} from '../worker/worker.ts';
import { waitForMoney } from '../worker/worker-money.ts';
import { raiseFence } from '../worktree/ref-fence.ts';
import { slotEnvironment } from '../worktree/slots.ts';
import type { TaskWorktree } from '../worktree/task-worktree.ts';
import type { AttemptResult } from './decide-next.ts';
import { type Convoy, type Job, noteStep } from './job.ts';
import { promptFile, readPrompt, titleOf } from './task-texts.ts';
import { describePhase } from './tests-first.ts';
import { noteUserState } from './user-state.ts';

/* How a worker begins: with money, a model, what it is told, and a fence around its branch. */

export type Work = {
  readonly orch: Orch;
  readonly convoy: Convoy;
  readonly ports: TaskPorts;
  readonly progress: RunProgress;
  readonly job: Job;
  readonly epic: EpicId;
  /** Aborted when the run has to stop, and when a person wants something else for this task. */
  readonly signal: AbortSignal;
};

/** Starts a worker, if there is money for one; what it may not exceed is settled before it starts. */
export async function beginWorker(
  work: Work,
  worktree: TaskWorktree,
  state: WorkerState,
): Promise<AttemptResult | null> {
  const { orch, convoy, progress, job, epic, signal } = work;
  const { task } = job;
  const ports = { ...work.ports, signal };
  if (!(await waitForProvider(orch, ports, progress, job))) return { kind: 'stopped' };
  const allowance = await waitForMoney(orch, convoy, ports, job, state);
  if (allowance === null) return { kind: 'stopped' };
  if (allowance.kind === 'held') {
    if (allowance.isConvoys) convoy.unpaid.add(task.id);
    return { kind: 'held', reason: allowance.reason };
  }
  if (job.isNew && job.feedback !== null)
    await beginMerge(openWorktree(worktree.own), worktree.branch, await convoy.queue.tip());
  const isContinued = !job.isNew && state.condition !== null;
  const messages = listUnheard(orch.home, epic);
  const prompt = tellWorker(work, formatMessages(messages));
  const hasTask = isContinued && (await findWorkerTranscript(orch, epic, worktree.own.path)) !== null;
  const phase = job.entersPhase ? describePhase(work) : null;
  const said = hasTask && job.feedback === null ? continueWith(messages, phase) : prompt;
  const file = promptFile(ports, progress, task);
  await makeFolder(orch.disk, join(orch.home, 'logs', nameFile(progress.run.id)));
  await writeAtomically(orch, file, prompt);
  // An agent in a sandbox that asks something writes into the journal, and takes the answer from the messages.
  const writable = [journalFolder(orch.home), messagesFolder(orch.home, epic)];
  for (const folder of writable) await makeFolder(orch.disk, folder);
  const model = await chooseModel(orch, convoy, job, prompt);
  const codex = { home: findAgentHomes().codex, writable };
  const command = makeAgentCommand(job.worker, said, { model, codex });
  const { agent } = command;
  const lease = Math.max(job.record.lease, convoy.leases.get(task.id) ?? 0) + 1;
  convoy.leases.set(task.id, lease);
  const since = job.record.since ?? ports.clock.now();
  job.record = { ...job.record, lease, agent, model, commit: null, since };
  job.record = { ...job.record, costMicros: state.spent + (job.record.reviewMicros ?? 0) };
  await noteStep(ports, progress, job, 'begun');
  ports.onEvent({ kind: 'begun', task, attempt: job.attempt, continues: isContinued });
  await noteUserState(orch, convoy);
  try {
    await startWorker(orch, {
      epic,
      argv: command.argv,
      cwd: worktree.own.path,
      env: {
        ...task.env,
        ...(job.slot && slotEnvironment(job.slot)),
        ...(await raiseFence(orch, worktree.branch)),
        ...convoy.trace.workerEnv(task.id, job.attempt),
        ORCH_PROMPT_FILE: file,
        ORCH_TASK: task.id,
        ORCH_RUN: progress.run.id,
        ORCH_ATTEMPT: String(job.attempt),
        ORCH_MESSAGES: messagesFolder(orch.home, epic),
        ...(model !== null && { ORCH_MODEL: model }),
      },
      allowance: allowance.amount,
      spent: state.spent,
      resumes: !job.isFresh && (isContinued || job.feedback !== null),
    });
  } catch (error) {
    // A scheduler that died may have been starting it.
    if (isWorking(await readWorker(orch, epic))) return null;
    // No failed attempt: the agent did nothing yet.
    return { kind: 'held', reason: messageOf(error) };
  }
  await noteHeard(orch, epic, messages);
  return null;
}

/** A resumed conversation has the task already. An agent without one finds everything in its file. */
function continueWith(messages: readonly Message[], phase: string | null): string {
  if (phase !== null) return `${messages.length === 0 ? '' : `${formatMessages(messages)}\n\n`}${phase}\n`;
  if (messages.length === 0) return 'You were interrupted. Continue with your task where you were.\n';
  return `${formatMessages(messages)}\n\nContinue with your task.\n`;
}

/** What its worker is told. */
export function tellWorker({ orch, convoy, job }: Work, messages: string): string {
  const { task } = job;
  const others = [...convoy.active].filter(([id]) => id !== task.id);
  return formatPrompt({
    ...{ task: task.id, name: task.name, files: task.files, branch: taskBranch(convoy.epic, task.id) },
    text: readPrompt(orch, task),
    others: others.map(([, { task: other }]) => ({
      task: other.id,
      name: titleOf(other),
      files: other.files,
    })),
    feedback: job.feedback,
    messages,
    phase: describePhase({ convoy, job }),
  });
}
