import { OrchError } from '../../errors.ts';
import { isTaskOf } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { listEpicsAbove } from '../../record/which/origin.ts';
import type { EpicId } from '../../types.ts';

/* What people decide about a convoy, its own workers do not: one that does so does it by accident. */

/** Refuses a worker of the convoy, and all that it has started. */
export function refuseWorkers({ home }: Pick<Orch, 'home'>, convoy: EpicId, what: string): void {
  if (listEpicsAbove(home).some((epic) => isTaskOf(epic, convoy))) throw forPeople(what, convoy);
}

/** Refuses an answer from the worker that asks. */
export function refuseOwnAnswer({ home }: Pick<Orch, 'home'>, task: EpicId): void {
  if (listEpicsAbove(home).includes(task)) throw forPeople('answer its own question', task);
}

function forPeople(what: string, epicId: EpicId): OrchError {
  return new OrchError('USAGE', `a worker of a convoy cannot ${what}: a person does that`, {
    hint: 'Nothing was changed. Ask the person you work for: orch ask "TEXT"',
    data: { epicId },
  });
}
