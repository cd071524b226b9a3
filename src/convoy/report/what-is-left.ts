import type { ReportFacts, TaskFacts } from './report-facts.ts';

/** Something that waits for a person; the command, if there is one, can be copied. */
export type LeftForPerson = {
  /** Null if it is about the convoy. */
  readonly task: string | null;
  readonly what: string;
  readonly command: string | null;
};

/** Lists what a convoy leaves for a person to do, in the order to do it. */
export function listLeft(facts: ReportFacts): LeftForPerson[] {
  const { convoy, planFile, isLanded, tasks } = facts;
  const left = tasks.flatMap((each) => describeTask(each, convoy.epicId));
  const isOver = convoy.status !== 'running';
  const isOpen = isOver && tasks.some(({ task }) => isUnfinished(task));
  const isPlanGone = convoy.plan === null && planFile !== null;
  const merged = tasks.filter(({ task }) => task.commit !== null);
  return [
    ...left,
    ...(isOpen && isPlanGone
      ? [{ task: null, what: `its plan is gone; to continue, bring back ${planFile}`, command: null }]
      : []),
    ...(isOpen && !isPlanGone
      ? [{ task: null, what: 'it can continue', command: `orch convoy resume ${convoy.epicId}` }]
      : []),
    ...(isLanded === false && merged.length > 0
      ? [
          {
            task: null,
            what: 'what is merged is on no branch of yours',
            command: `orch convoy land ${convoy.epicId}`,
          },
        ]
      : []),
    ...(isLanded === null && merged.length > 0
      ? [
          {
            task: null,
            what: 'its merged branch is gone; the commits are listed under Merges',
            command: null,
          },
        ]
      : []),
  ];
}

function isUnfinished({ status }: TaskFacts['task']): boolean {
  return status !== 'done' && status !== 'cancelled' && status !== 'skipped';
}

function describeTask({ task }: TaskFacts, epic: string): LeftForPerson[] {
  const { id, status, reason } = task;
  const because = reason === null ? '' : `: ${reason}`;
  const name = `${epic}/${id}`;
  switch (status) {
    case 'needs_input':
      return [{ task: id, what: `it asks${because}`, command: `orch convoy say ${name} "…"` }];
    case 'failed':
      return [{ task: id, what: `it failed ${reason ?? ''}`.trim(), command: `orch convoy why ${name}` }];
    case 'held':
      return [{ task: id, what: `it is held${because}`, command: `orch convoy why ${name}` }];
    default:
      return [];
  }
}
