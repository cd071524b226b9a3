import { importPlan } from '../../src/import/import-api.ts';
import type { Source } from '../../src/import/imported-issue.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';

export type GivenBead = { readonly id: string; readonly [field: string]: unknown };

/** A bead as `bd export` writes it, open unless it says otherwise. */
export function bead(id: string, fields: Record<string, unknown> = {}): GivenBead {
  return { _type: 'issue', id, title: `Title of ${id}`, status: 'open', issue_type: 'task', ...fields };
}

/** What an issue depends on: `dep('bd-1', 'bd-2')` says that bd-1 is blocked by bd-2. */
export function dep(from: string, to: string, type = 'blocks', more: Record<string, unknown> = {}) {
  return { issue_id: from, depends_on_id: to, type, ...more };
}

export function toLines(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

type Options = { readonly source?: Source; readonly convoy?: string; readonly allowLoss?: boolean };

/** Imports a text, and reads the plan back if there is one. */
export async function importText(text: string | Buffer, { source = 'beads', ...options }: Options = {}) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  const imported = await importPlan({ source, input: { kind: 'bytes', bytes }, ...options });
  const plan = imported.plan === null ? null : parsePlan(imported.plan, 'plan.yaml');
  const needs = Object.fromEntries(plan?.tasks.map((task) => [task.id, task.needs]) ?? []);
  return { ...imported, names: imported.tasks, tasks: plan?.tasks ?? [], needs, text: imported.plan ?? '' };
}

export const importBeads = (records: readonly unknown[], options: Options = {}) =>
  importText(toLines(records), options);
