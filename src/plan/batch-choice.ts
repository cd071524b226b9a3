import { OrchError } from '../errors.ts';
import type { SpecTask } from '../integration/spec.ts';
import { findNearest } from '../spelling.ts';
import type { Situation } from './batch-situation.ts';
import { completedOf } from './batches.ts';

/** Which tasks a call completes, and which are so already. */
export type Choice = { readonly newly: readonly SpecTask[]; readonly already: readonly string[] };

/**
 * The tasks that are meant: those named, or else the current batch. Without names a completion that is on its way, into
 * checkpoint.yaml or into a commit, comes first: whoever runs a call again that died does not mean the batch after it.
 */
export function chooseTasks(
  { spec, position, checkpoint }: Pick<Situation, 'spec' | 'position' | 'checkpoint'>,
  committed: ReadonlySet<string>,
  names: readonly string[] | null,
): Choice {
  const done = completedOf(spec.tasks);
  if (names !== null) return chooseNamed(spec.tasks, done, [...new Set(names)]);
  const listed = new Set(checkpoint?.completed ?? []);
  const onTheWay = [...done].filter((id) => !listed.has(id) || !committed.has(id));
  if (onTheWay.length > 0) return { newly: [], already: onTheWay };
  return { newly: position.batch?.tasks ?? [], already: [] };
}

/** The tasks of these names, which must not depend on anything that is not completed. */
export function chooseNamed(
  tasks: readonly SpecTask[],
  done: ReadonlySet<string>,
  names: readonly string[],
): Choice {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const unknown = names.filter((name) => !byId.has(name));
  if (unknown.length > 0) throw unknownTasks(unknown, [...byId.keys()]);
  const newly = names.filter((name) => !done.has(name)).flatMap((name) => byId.get(name) ?? []);
  const early = newly.flatMap(({ id, needs }) => {
    const open = needs.filter((need) => !done.has(need));
    return open.length > 0 ? [{ id, open }] : [];
  });
  if (early.length > 0)
    throw new OrchError(
      'USAGE',
      early.map(({ id, open }) => `${id} depends on ${open.join(', ')}, not completed yet`).join('; '),
      {
        hint: `Nothing was changed. Complete that first: orch batch complete ${early[0]?.open.join(' ')}`,
        data: { tasks: early },
      },
    );
  return { newly, already: names.filter((name) => done.has(name)) };
}

function unknownTasks(unknown: readonly string[], known: readonly string[]): OrchError {
  const meant = findNearest(unknown[0] ?? '', known);
  const said = unknown.map((name) => JSON.stringify(name.slice(0, 80))).join(', ');
  return new OrchError('USAGE', `tasks.yaml has no task ${said}`, {
    hint: meant ? `Did you mean ${meant}?` : 'See which there are with: orch batch status',
    data: { unknown },
  });
}
