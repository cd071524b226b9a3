import { groupBy } from '../keyed.ts';
import type { Complexity } from '../plan/convoy-shape.ts';
import { orderTasks } from '../plan/schedule/graph.ts';
import { cleanLine } from '../text.ts';
import { decideEdges, type EdgeFate } from './decide-edges.ts';
import { decideIssues, type KeptIssues, keepOnce } from './decide-issues.ts';
import type { ImportReport } from './import-report.ts';
import type { Imported, ImportedIssue, Lost } from './imported-issue.ts';
import { linkParts, resolveTarget } from './issue-graph.ts';
import { makeLabel, nameTask, rateComplexity, writePrompt } from './prompt-text.ts';
import { nameTasks } from './task-ids.ts';

/* From issues to the tasks of a plan. Pure: nothing here reads or writes a file. */

/** A task as it will be written. */
export type DraftTask = {
  readonly id: string;
  /** The id of its issue; null for one that only waits for a whole group. */
  readonly issue: string | null;
  readonly name: string;
  /** Null for a task that only waits. */
  readonly prompt: string | null;
  readonly needs: readonly string[];
  readonly when: 'success' | 'failure';
  readonly labels: readonly string[];
  readonly complexity: Complexity | null;
};

export type DraftPlan = {
  /** Null to be named after its file. */
  readonly name: string | null;
  readonly tasks: readonly DraftTask[];
  readonly report: ImportReport;
};

/** Turns everything that was read into tasks, and accounts for every issue and every dependency. */
export function planFromIssues(imported: Imported, convoy: string | null = null): DraftPlan {
  const kept = keepOnce(imported.issues);
  const { byId } = kept;
  const edges = [...byId.values()].flatMap((issue) => issue.edges);
  const graph = linkParts(byId, edges);
  const fates = decideIssues(kept, graph, edges);
  const decided = decideEdges(graph, fates, edges);
  const wanted = convoy === null ? null : chooseConvoy(convoy, graph.descendantsOf(convoy), decided.needs);
  if (wanted !== null) leaveOut(wanted, fates, decided.edges, graph.descendantsOf);

  const isTask = ({ id }: ImportedIssue) => fates.get(id)?.fate === 'task';
  const taskIssues = [...byId.values()].filter(isTask);
  const joins = [...decided.joins].filter(([join]) => wanted === null || wanted.has(join));
  const ids = nameTasks([...taskIssues.map(({ id }) => id), ...joins.map(([join]) => join)]);
  const nameOf = (id: string) => ids.get(id) ?? id;
  const labelsOf = labelWith(graph.ancestorsOf, graph.parentsOf, byId);
  const relatedTo = groupBy(
    decided.edges
      .filter(({ fate, edge }) => fate === 'informing' && edge.means === 'informs')
      .map(({ edge }) => edge),
    ({ from }) => from,
  );
  const drafts = taskIssues.map((issue): DraftTask & { readonly priority: number } => ({
    id: nameOf(issue.id),
    issue: issue.id,
    name: nameTask(issue),
    prompt: writePrompt(issue, {
      parents: (graph.parentsOf.get(issue.id) ?? [])
        .flatMap((id) => byId.get(id) ?? [])
        .filter(({ isConvoy }) => !isConvoy),
      related: (relatedTo.get(issue.id) ?? []).map((edge) => ({
        edge,
        issue: byId.get(resolveTarget(byId, edge.to)),
      })),
    }),
    needs: (decided.needs.get(issue.id) ?? []).map(nameOf),
    when: decided.onFailure.has(issue.id) ? 'failure' : 'success',
    labels: labelsOf(issue),
    complexity: rateComplexity(issue.minutes),
    priority: issue.priority ?? usualPriority,
  }));
  const waiting = joins.map(([join, group]): DraftTask & { readonly priority: number } => ({
    id: nameOf(join),
    issue: null,
    name: nameTask({ title: `All of ${group} is done`, id: group }),
    prompt: null,
    needs: (decided.needs.get(join) ?? []).map(nameOf),
    when: 'success',
    labels: [],
    complexity: null,
    priority: usualPriority,
  }));
  const byPriority = [...drafts, ...waiting].toSorted((a, b) => a.priority - b.priority);
  return {
    name: wanted === null ? null : nameTask(byId.get(convoy ?? '') ?? { title: '', id: convoy ?? '' }),
    tasks: orderTasks(byPriority),
    report: makeReport(
      wanted === null ? imported : withoutOthers(imported),
      kept,
      fates,
      decided.edges,
      joins.length,
    ),
  };
}

/** What Beads gives an issue without one. */
const usualPriority = 2;

/** Finds a convoy's members and everything they need. */
function chooseConvoy(
  convoy: string,
  members: readonly string[],
  needs: ReadonlyMap<string, readonly string[]>,
): Set<string> {
  const wanted = new Set([convoy, ...members]);
  for (const id of wanted) for (const need of needs.get(id) ?? []) wanted.add(need);
  return wanted;
}

type Fates = ReturnType<typeof decideIssues>;

/** For a chosen convoy, another database matters only if something in the convoy leads to it. */
function withoutOthers(imported: Imported): Imported {
  const databases = imported.lost.filter(({ kind }) => kind === 'database');
  return {
    ...imported,
    lost: imported.lost.filter(({ kind }) => kind !== 'database'),
    notes: [...imported.notes, ...databases.map(({ what, why }) => `Not read: ${what} (${why})`)],
  };
}

/** Sets aside what a chosen convoy has nothing to do with. */
function leaveOut(
  wanted: ReadonlySet<string>,
  fates: Fates,
  edges: EdgeFate[],
  descendantsOf: (id: string) => readonly string[],
): void {
  for (const [id, { fate }] of fates)
    if ((fate === 'task' || fate === 'lost') && !wanted.has(id)) fates.set(id, { fate: 'leftOut' });
  for (const [index, { edge }] of edges.entries()) {
    const isWanted = wanted.has(edge.from) || descendantsOf(edge.from).some((id) => wanted.has(id));
    if (!isWanted) edges[index] = { edge, fate: 'leftOut' };
  }
}

/** Gives each task the labels of its issue, and those that say where it belongs. */
function labelWith(
  ancestorsOf: (id: string) => readonly string[],
  parentsOf: ReadonlyMap<string, readonly string[]>,
  byId: ReadonlyMap<string, ImportedIssue>,
) {
  const convoys = [...byId.values()].filter(({ isConvoy, isClosed }) => isConvoy && !isClosed);
  const byName = groupBy(convoys, slugConvoy);
  const nameConvoy = (convoy: ImportedIssue) => {
    const name = slugConvoy(convoy);
    return name === '' || (byName.get(name)?.length ?? 0) > 1 ? convoy.id : name;
  };
  return (issue: ImportedIssue): string[] => {
    const above = ancestorsOf(issue.id).flatMap((id) => byId.get(id) ?? []);
    const texts = [
      ...issue.labels,
      ...(issue.type === 'task' ? [] : [`type:${issue.type}`]),
      ...(issue.priority === null ? [] : [`priority:${issue.priority}`]),
      ...(issue.status === 'open' ? [] : [`status:${issue.status}`]),
      ...(parentsOf.get(issue.id) ?? [])
        .filter((id) => byId.get(id)?.isConvoy === false)
        .map((id) => `part-of:${id}`),
      ...above.filter(({ isConvoy }) => isConvoy).map((convoy) => `convoy:${nameConvoy(convoy)}`),
    ];
    return [...new Set(texts.flatMap((text) => makeLabel(text) ?? []))];
  };
}

/** `Work: Add login` → `work-add-login`, to be typed. */
function slugConvoy({ title }: ImportedIssue): string {
  return title
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]+/gu, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '');
}

function makeReport(
  imported: Imported,
  kept: KeptIssues,
  fates: Fates,
  edges: readonly EdgeFate[],
  joins: number,
): ImportReport {
  const issues = { read: 0, tasks: 0, closed: 0, grouping: 0, notWork: 0, repeated: 0, leftOut: 0, lost: 0 };
  const lost: Lost[] = [...imported.lost, ...kept.lost];
  const unused = new Map<string, number>();
  const notWork = new Map<string, number>();
  const byStatus = new Map<string, string[]>();
  for (const issue of kept.byId.values()) {
    const decided = fates.get(issue.id);
    const fate = decided?.fate ?? 'lost';
    issues[fate === 'task' ? 'tasks' : fate]++;
    if (fate === 'lost')
      lost.push({
        kind: 'issue',
        id: issue.id,
        what: `${issue.id} ${cleanLine(issue.title, 120)}`,
        why: decided?.why ?? '',
      });
    if (fate === 'notWork') notWork.set(issue.type, (notWork.get(issue.type) ?? 0) + 1);
    if (fate !== 'task') continue;
    for (const field of issue.unused) unused.set(field, (unused.get(field) ?? 0) + 1);
    if (issue.status === 'open') continue;
    const same = byStatus.get(issue.status);
    if (same === undefined) byStatus.set(issue.status, [issue.id]);
    else same.push(issue.id);
  }
  issues.repeated = kept.repeated;
  issues.lost += kept.lost.length;
  issues.read = imported.issues.length;
  const dependencies = { read: edges.length, needs: 0, satisfied: 0, informing: 0, leftOut: 0, lost: 0 };
  for (const { edge, fate, why } of edges) {
    dependencies[fate]++;
    if (fate === 'lost')
      lost.push({
        kind: 'dependency',
        id: edge.from,
        what: `${edge.from} → ${edge.to} (${edge.type})`,
        why: why ?? '',
      });
  }
  return {
    source: imported.source,
    files: imported.files,
    issues,
    dependencies,
    joins,
    lost: lost.map(({ kind, id, what, why }) => ({
      kind,
      id: cleanLine(id, 300),
      what: cleanLine(what, 500),
      why: cleanLine(why, 500),
    })),
    notWork: Object.fromEntries([...notWork, ...Object.entries(imported.otherRecords)]),
    unfinished: Object.fromEntries(byStatus),
    notInPlan: Object.fromEntries([...unused].sort((a, b) => b[1] - a[1])),
    memories: imported.memories,
    redacted: [],
    notes: imported.notes.map((note) => cleanLine(note, 500)),
  };
}
