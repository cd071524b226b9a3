import { hash } from '../digest.ts';
import { slugOf } from '../ids.ts';

/** The branch of what is merged is called this, beside those of tasks. */
const reserved = new Set(['merged']);

/**
 * Names the tasks of issues. An id that can be a task's stays as it is. Others get a form of it and a digest, so that a
 * task keeps its id when other issues come and go.
 */
export function nameTasks(ids: readonly string[]): Map<string, string> {
  const lower = new Map<string, number>();
  for (const id of ids) lower.set(id.toLowerCase(), (lower.get(id.toLowerCase()) ?? 0) + 1);
  const isFree = (id: string) =>
    slugOf(id) === id && lower.get(id.toLowerCase()) === 1 && !reserved.has(id.toLowerCase());
  const names = new Map(ids.filter(isFree).map((id) => [id, id]));
  const taken = new Set([...names.keys()].map((id) => id.toLowerCase()));
  for (const id of ids) {
    if (names.has(id)) continue;
    const name = makeName(id, taken);
    names.set(id, name);
    taken.add(name.toLowerCase());
  }
  return names;
}

function makeName(id: string, taken: ReadonlySet<string>): string {
  const digest = hash('sha256', id);
  const slug = (slugOf(id) ?? 'issue').slice(0, 50).replace(/[.-]+$/, '');
  for (let length = 6; length < 12; length++) {
    const name = `${slug}-${digest.slice(0, length)}`;
    if (!taken.has(name.toLowerCase())) return name;
  }
  let number = 2;
  while (taken.has(`${slug}-${digest.slice(0, 12)}-${number}`.toLowerCase())) number++;
  return `${slug}-${digest.slice(0, 12)}-${number}`;
}
