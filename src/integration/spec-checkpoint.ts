import { Document, isMap, isScalar } from 'yaml';
import { cleanLine } from '../text.ts';
import { list } from '../yaml-values.ts';
import type { SpecTask } from './spec.ts';
import { checkpointFile, foundIssue, type severities } from './spec-checkpoint-shape.ts';
import { openPage, planInvalid } from './yaml-page.ts';

/* checkpoint.yaml, which a spec has beside its tasks: how far it has come, for whoever goes on with it. */

export const checkpointName = 'checkpoint.yaml';

export type Severity = (typeof severities)[number];

/** Something a review found. */
export type FoundIssue = {
  readonly severity: Severity;
  readonly description: string;
  readonly location: string | null;
};

/** One that is left for later, with the batch it came up in. */
export type DeferredIssue = FoundIssue & { readonly batch: number };

/** What a checkpoint.yaml says; what is in it beyond that is carried along. */
export type SpecCheckpoint = {
  readonly branch: string | null;
  readonly lastBatch: number;
  readonly lastCommit: string | null;
  readonly completed: readonly string[];
  readonly deferred: readonly DeferredIssue[];
  readonly reviewConfig: unknown;
  /** Keys of other tools. */
  readonly others: { readonly [key: string]: unknown };
};

/** Reads a checkpoint.yaml; `PLAN_INVALID` names what is wrong. */
export function parseSpecCheckpoint(file: string, given: string): SpecCheckpoint {
  const page = openPage(file, given);
  const found = page.read([], page.value, checkpointFile);
  if (found === null) throw planInvalid(page.mistakes);
  const { branch, last_batch, last_commit, tasks, deferred_issues, review_config, ...rest } =
    found.checkpoint;
  const { spec_name: _, spec_path: __, timestamp: ___, next_batch: ____, ...others } = rest;
  return {
    branch,
    lastBatch: last_batch,
    lastCommit: last_commit,
    completed: tasks.completed,
    deferred: deferred_issues,
    reviewConfig: review_config,
    others,
  };
}

/** Reads a list of issues that a review found, in YAML or JSON. */
export function parseFoundIssues(file: string, given: string): FoundIssue[] {
  const page = openPage(file, given);
  const shape = list('a list of issues, each with severity, description and location', foundIssue);
  const found = page.read([], page.value, shape);
  if (found === null) throw planInvalid(page.mistakes);
  return found.map(({ severity, description, location }) => {
    return { severity, description: cleanLine(description), location };
  });
}

export type SpecProgress = {
  readonly name: string;
  /** `specs/active/auth-system` */
  readonly folder: string;
  readonly timestamp: string;
  readonly checkpoint: Omit<SpecCheckpoint, 'completed'>;
  readonly tasks: readonly SpecTask[];
  readonly next: {
    readonly number: number;
    readonly tasks: readonly SpecTask[];
    readonly parallel: boolean;
  } | null;
};

const about = {
  spec_name: ' Metadata',
  last_batch: ' Progress',
  tasks: ' Task status summary (mirrors tasks.yaml)',
  next_batch: ' Next batch info',
  deferred_issues: ' Deferred issues (noted for later)',
  review_config: ' Review config for resumption',
};

/** Writes a checkpoint.yaml. Its keys and their order are what others read it by. */
export function formatSpecCheckpoint({
  name,
  folder,
  timestamp,
  checkpoint,
  tasks,
  next,
}: SpecProgress): string {
  const listed = (status: SpecTask['status']) =>
    tasks.filter((task) => task.status === status).map(({ id, name: title }) => ({ id, name: title }));
  const document = new Document({
    checkpoint: {
      spec_name: name,
      spec_path: `./${folder}`,
      branch: checkpoint.branch,
      timestamp,
      last_batch: checkpoint.lastBatch,
      last_commit: checkpoint.lastCommit,
      tasks: {
        completed: listed('completed'),
        in_progress: listed('in_progress'),
        pending: listed('pending'),
      },
      next_batch: next && {
        number: next.number,
        tasks: next.tasks.map(({ id, name: title, files }) => ({ id, name: title, file: fileOf(files) })),
        parallel: next.parallel,
      },
      // With what others noted beside it.
      deferred_issues: checkpoint.deferred.map(({ batch, severity, description, location, ...others }) => {
        return { batch, severity, description, location, ...others };
      }),
      review_config: checkpoint.reviewConfig ?? { reviewers: [] },
      ...checkpoint.others,
    },
  });
  const inside = document.get('checkpoint');
  for (const { key } of isMap(inside) ? inside.items : []) {
    const [, comment] = Object.entries(about).find(([of]) => isScalar(key) && key.value === of) ?? [];
    if (comment === undefined || !isScalar(key)) continue;
    key.commentBefore = comment;
    key.spaceBefore = key.value !== 'spec_name';
  }
  document.commentBefore = ' Written by orch after each batch; comments are not kept.';
  return document.toString({ lineWidth: 0 });
}

/** A single file as it is; several as a list; null where a task names none. */
export function fileOf(files: readonly string[]): string | readonly string[] | null {
  return files.length > 1 ? files : (files[0] ?? null);
}
