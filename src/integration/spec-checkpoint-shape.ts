import * as z from 'zod/mini';
import { isMapping, oneOf, readTaskId, readWhole, value } from '../yaml-values.ts';
import { listOrNone, row, text, textOrNone } from './spec-shape.ts';

export const severities = ['critical', 'high', 'medium', 'low'] as const;

const numberOrZero = value('a number', (given) => (given == null ? 0 : readWhole(given, 0, 1_000_000)));

/** Written by hand, an id of digits alone is a number to YAML. */
const commitOrNone = value('the id of a commit', (given) => {
  if (given == null) return null;
  const id = typeof given === 'number' ? String(given) : given;
  return typeof id === 'string' && /^[0-9a-f]{4,64}$/i.test(id) ? id.toLowerCase() : undefined;
});

const issue = { severity: oneOf(severities), description: text, location: textOrNone };

export const foundIssue = row(issue);

const task = value('a task with its id', (given) => readTaskId(isMapping(given) ? given.id : given));

/** What orch needs of a checkpoint.yaml, by whomever it was written. */
export const checkpointFile = row({
  checkpoint: row({
    branch: textOrNone,
    last_batch: numberOrZero,
    last_commit: commitOrNone,
    tasks: row({ completed: listOrNone('a list of tasks, each with its id', task) }),
    deferred_issues: listOrNone('a list of issues', row({ ...issue, batch: numberOrZero })),
    review_config: z.unknown(),
  }),
});
