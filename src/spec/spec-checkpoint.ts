import { Document, isMap, isScalar } from 'yaml';
import { openYaml, planInvalid } from '../config/yaml/yaml-page.ts';
import { list } from '../config/yaml/yaml-values.ts';
import { cleanLine } from '../text.ts';
import type { SpecTask } from './read-spec.ts';
import { checkpointFile, foundIssue, type severities } from './spec-shape.ts';

/* checkpoint.yaml, beside a spec's tasks.yaml: how far the work is, for the session that continues it. */

export const checkpointName = 'checkpoint.yaml';

type Severity = (typeof severities)[number];

/** An issue that a review found. */
export type FoundIssue = {
  readonly severity: Severity;
  readonly description: string;
  readonly location: string | null;
};

/** An issue left for later, with the number of the batch that found it. */
export type DeferredIssue = FoundIssue & { readonly batch: number };

/** The content of a checkpoint.yaml; unknown keys are kept. */
export type SpecCheckpoint = {
  readonly branch: string | null;
  readonly lastBatch: number;
  readonly lastCommit: string | null;
  readonly completed: readonly string[];
  readonly deferred: readonly DeferredIssue[];
  readonly reviewConfig: unknown;
  /** The keys of other tools. */
  readonly others: { readonly [key: string]: unknown };
};

/** Parses a checkpoint.yaml; `PLAN_INVALID` names every mistake. */
export function parseSpecCheckpoint(file: string, given: string): SpecCheckpoint {
  const page = openYaml(file, given);
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

/** Parses a list of issues that a review found, in YAML or JSON. */
export function parseFoundIssues(file: string, given: string): FoundIssue[] {
  const page = openYaml(file, given);
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

const sectionComments = {
  spec_name: ' Metadata',
  last_batch: ' Progress',
  tasks: ' Task status summary (mirrors tasks.yaml)',
  next_batch: ' Next batch info',
  deferred_issues: ' Deferred issues (noted for later)',
  review_config: ' Review config for resumption',
};

/** Formats a checkpoint.yaml. Other tools depend on its keys and their order. */
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
      // With the keys that other tools added.
      deferred_issues: checkpoint.deferred.map(({ batch, severity, description, location, ...others }) => {
        return { batch, severity, description, location, ...others };
      }),
      review_config: checkpoint.reviewConfig ?? { reviewers: [] },
      ...checkpoint.others,
    },
  });
  const inside = document.get('checkpoint');
  for (const { key } of isMap(inside) ? inside.items : []) {
    const [, comment] =
      Object.entries(sectionComments).find(([of]) => isScalar(key) && key.value === of) ?? [];
    if (comment === undefined || !isScalar(key)) continue;
    key.commentBefore = comment;
    key.spaceBefore = key.value !== 'spec_name';
  }
  document.commentBefore = ' Written by orch after each batch; comments are not kept.';
  return document.toString({ lineWidth: 0 });
}

/** Formats a task's files: one as a text, several as a list, none as null. */
export function fileOf(files: readonly string[]): string | readonly string[] | null {
  return files.length > 1 ? files : (files[0] ?? null);
}
