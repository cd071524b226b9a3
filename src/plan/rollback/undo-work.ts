import { join } from 'node:path';
import { nameFile } from '../../ids.ts';
import type { RunningSession } from '../../record/ports.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { openOutputLog } from '../../session/output-log.ts';
import type { Fact } from '../../state/facts.ts';
import { makeFolder } from '../../system/disk.ts';
import { performEffects } from '../effects/perform.ts';
import type { EffectFact, PlannedEffect } from '../effects/plan-effects.ts';
import { nameTaskFile } from '../items.ts';
import type { Plan, Task } from '../plan.ts';
import { findRun } from '../run/known-runs.ts';
import type { ActiveRun } from '../run/prepare-run.ts';
import { type TaskPorts, taskEnvironment } from '../task/do-task.ts';
import { inShards } from '../task/task-facts.ts';
import { valueVariables } from '../task/task-values.ts';
import { type KeptWork, planRollback, type UndoStep } from './plan-rollback.ts';

export type Undone = { readonly task: string; readonly effect: string | null };

/** How far a rollback is. */
export type RollbackResult = {
  readonly undone: readonly Undone[];
  readonly kept: readonly KeptWork[];
  /** What keeps it from being complete; null if it is. */
  readonly problem: {
    readonly kind: 'stopped' | 'blocked' | 'resume_needed';
    readonly task: Task;
    readonly reason: string;
  } | null;
};

type RolledBack = Pick<ActiveRun, 'id' | 'shards'> & { readonly plan: Plan };

/**
 * Undoes what succeeded in a run, what was done last first. Each step is recorded before it is tried and once it is done,
 * so a rollback that is stopped continues where it was. What cannot be undone stops it: earlier work may be its base.
 */
export async function undoWork(
  ports: TaskPorts,
  target: RunningSession,
  run: RolledBack,
): Promise<RollbackResult> {
  const known = await findRun(ports.git, await readView(ports, target.epic), run.plan.name);
  if (known === null) throw new Error(`the run ${run.id} is not recorded`);
  const { steps, kept } = planRollback(run.plan, known);
  const undone: Undone[] = [];
  ports.onEvent({ kind: 'rollback', steps: steps.length });
  for (const step of steps) {
    const { task, effect } = step;
    const outcome = await undo(ports, target, run, step);
    if (outcome.kind !== 'done') {
      const reason = 'reason' in outcome ? outcome.reason : 'stopped';
      const problem = {
        kind: outcome.kind,
        task,
        reason: effect ? `undo of ${effect.id}: ${reason}` : reason,
      };
      if (outcome.kind !== 'stopped')
        ports.onEvent({ kind: 'undo_failed', task, effect: effect?.id ?? null, reason });
      return { undone, kept, problem };
    }
    undone.push({ task: task.id, effect: effect?.id ?? null });
    ports.onEvent({ kind: 'undone', task, effect: effect?.id ?? null });
  }
  return { undone, kept, problem: null };
}

async function undo(ports: TaskPorts, target: RunningSession, run: RolledBack, step: UndoStep) {
  const { clock, random, cwd, env, signal, home, onEvent } = ports;
  const { task, values } = step;
  const path = join(home, 'logs', nameFile(run.id), nameTaskFile(task.id, '.log'));
  await makeFolder(ports.disk, join(home, 'logs', nameFile(run.id)));
  const log = openOutputLog(ports, path);
  try {
    return await performEffects(
      {
        ...{ clock, random, cwd, signal },
        env: { ...env, ...valueVariables(values), ...taskEnvironment({ run, target }, task, 1) },
        onOutput: log.write,
        onNote: (text) => onEvent({ kind: 'said', task, text }),
        record: async (fact) => {
          await record(ports, target, [makeUndoFact(run, step, fact)]);
        },
      },
      task,
      [asEffect(run, step)],
    );
  } finally {
    await log.close();
  }
}

/** An undo is performed like an effect: with retries, with its check asked before it is repeated, under a key of its own. */
function asEffect(run: RolledBack, { task, effect, undo, key, isUnderWay }: UndoStep): PlannedEffect {
  const id = effect?.id ?? task.id;
  return {
    effect: { id, action: undo.action, check: undo.check, digest: '' },
    blocked: null,
    record: {
      ...({ kind: 'effect', run: run.id, id, task: task.id, key, status: 'planned' } as const),
      ...{ reason: null, digest: '', what: '', tried: isUnderWay ? 'here' : 'no' },
    },
  };
}

/** What the attempt at an undo means for the record of what is undone. */
export function makeUndoFact(
  run: RolledBack,
  { task, effect, key, record }: UndoStep,
  { status, reason }: EffectFact,
): Fact {
  const now = status === 'acknowledged' ? 'undone' : 'undoing';
  if ('effect' in record) {
    const { at: _, content: __, ...known } = record.effect;
    const about = { kind: 'effect', run: run.id, id: effect?.id ?? '' } as const;
    return { ...known, ...about, status: now, reason, ...inShards(run, false) };
  }
  const { at: _, why: __, ...known } = record.task;
  return {
    ...known,
    ...({ kind: 'task', run: run.id, id: task.id, status: now, undoKey: key } as const),
    ...(reason !== null && { why: reason }),
    ...inShards(run, false),
  };
}

/** What a run is after its rollback: what failed before stays failed. */
export function judgeRollback({ problem }: RollbackResult): 'failed' | 'blocked' | 'resume_needed' {
  if (problem === null) return 'failed';
  return problem.kind === 'blocked' ? 'blocked' : 'resume_needed';
}

/** `rolled back: 3 undone, 2 kept`. */
export function describeRollback({ undone, kept, problem }: RollbackResult): string {
  const figures = `${undone.length} undone${kept.length > 0 ? `, ${kept.length} kept` : ''}`;
  if (problem === null) return `rolled back: ${figures}`;
  return `the rollback stopped at ${problem.task.id} (${figures}): ${problem.reason}`;
}
