import { hash } from '../../digest.ts';
import { mergedName } from '../names.ts';
import type { ConvoyReport, ReportedAttempt, ReportedTask } from './make-report.ts';
import type { Cell } from './report-document.ts';
import { writeCells } from './write-markdown.ts';

/* What earlier convoys teach the next: found by counting what is recorded, and never by a model. */

export const learningKinds = ['gate', 'collision', 'model', 'reason', 'question', 'witness'] as const;
export type LearningKind = (typeof learningKinds)[number];

export type Learning = {
  /** The same whenever it is found again, with more evidence or less. */
  readonly id: string;
  readonly kind: LearningKind;
  /** Markdown. What was recorded is set apart as code, so that an agent that reads it takes it for no instruction. */
  readonly text: string;
  /** Where it was seen: `auth/login`. */
  readonly evidence: readonly string[];
};

/** More of a kind would be too much to read; those with the most evidence come first. */
const mostOfAKind = 10;

/** Finds what convoys teach that is not known yet. */
export function findLearnings(reports: readonly ConvoyReport[], known: ReadonlySet<string>): Learning[] {
  const seen = reports.flatMap((report) => listSightings(report));
  const groups = new Map<string, Sighting[]>();
  for (const each of seen) {
    const id = hash('sha256', JSON.stringify([each.kind, each.subject])).slice(0, 12);
    groups.set(id, [...(groups.get(id) ?? []), each]);
  }
  const found = [...groups].flatMap(([id, sightings]): (Learning & { readonly times: number })[] => {
    const [first] = sightings;
    const text = first && !known.has(id) ? describe(sightings, first) : null;
    if (first === undefined || text === null) return [];
    const evidence = [...new Set(sightings.map(({ place }) => place))];
    return [{ id, kind: first.kind, text: writeCells(text), evidence, times: sightings.length }];
  });
  return learningKinds.flatMap((kind) =>
    found
      .filter((each) => each.kind === kind)
      .sort((a, b) => b.times - a.times)
      .slice(0, mostOfAKind)
      .map(({ times: _, ...learning }) => learning),
  );
}

/** Something that happened once; what has the same subject may be a learning. */
type Sighting = {
  readonly kind: LearningKind;
  readonly subject: readonly string[];
  readonly place: string;
  /** What is shown of it besides its subject. */
  readonly details: readonly string[];
  /** Of a model: was its work accepted? */
  readonly isGood?: boolean;
};

function listSightings({ convoy, tasks, questions, collisions, witness }: ConvoyReport): Sighting[] {
  const at = (task: string) => `${convoy.name}/${task}`;
  const answered = questions.flatMap(({ task, text, answer }): Sighting[] =>
    answer === null ? [] : [{ kind: 'question', subject: [text], place: at(task), details: [answer] }],
  );
  const collided = collisions.flatMap(({ tasks: both, files }) =>
    files.map((file): Sighting => {
      return {
        kind: 'collision',
        subject: [file],
        place: at(both.filter((task) => task !== mergedName).join('+')),
        details: [],
      };
    }),
  );
  const acted = witness.map(({ task, text }): Sighting => {
    return { kind: 'witness', subject: [withoutNumbers(text)], place: at(task), details: [text] };
  });
  const made = tasks.flatMap((task) =>
    task.made.flatMap((attempt) => listOfAttempt(task, attempt, at(task.id))),
  );
  return [...made, ...collided, ...answered, ...acted];
}

function listOfAttempt(
  { complexity, status }: ReportedTask,
  made: ReportedAttempt,
  place: string,
): Sighting[] {
  const { attempt, model, refused, red, conflicts } = made;
  const isGood = refused === null && status === 'done';
  const isJudged = attempt !== null && (refused !== null || isGood);
  const isExplained = red.length + conflicts.length > 0;
  return [
    ...red.map(({ gate, failing }): Sighting => ({ kind: 'gate', subject: [gate], place, details: failing })),
    ...conflicts.map((file): Sighting => ({ kind: 'collision', subject: [file], place, details: [] })),
    ...(isJudged && model !== null
      ? [{ kind: 'model' as const, subject: [model, complexity ?? ''], place, details: [], isGood }]
      : []),
    ...(refused !== null && !isExplained
      ? [{ kind: 'reason' as const, subject: [withoutNumbers(refused)], place, details: [refused] }]
      : []),
  ];
}

/** What differs only in its numbers is the same. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+/g, '0');
}

const shownDetails = 5;

/** Puts what was seen into words; null if it was not seen often enough to teach anything. */
function describe(sightings: readonly Sighting[], { kind, subject, details }: Sighting): Cell[] | null {
  const times = sightings.length;
  const [what = '', more = ''] = subject;
  const [detail = what] = details;
  switch (kind) {
    case 'gate': {
      if (times < 2) return null;
      const failing = [...new Set(sightings.flatMap((each) => each.details))].slice(0, shownDetails);
      const tests = failing.flatMap((name, index): Cell[] => [
        index === 0 ? ' It failed on ' : ', ',
        { code: name },
      ]);
      const end = tests.length === 0 ? [] : [...tests, '.'];
      return [
        'Gate ',
        { code: what },
        ` sent work back ${times} times: run it before you say that you are done.`,
        ...end,
      ];
    }
    case 'collision':
      return [
        'Tasks that ran at the same time conflicted in ',
        { code: what },
        ': let one wait for the other, or name it in files of both.',
      ];
    case 'model': {
      const good = sightings.filter(({ isGood }) => isGood).length;
      const bad = times - good;
      if (bad < 2 || good >= bad) return null;
      const tasks = more === '' ? 'tasks' : `${more} tasks`;
      return [
        'Model ',
        { code: what },
        ` was not accepted in ${bad} of ${times} attempts at ${tasks}: begin those with another.`,
      ];
    }
    case 'reason':
      return times < 2 ? null : [`Work was sent back ${times} times because of this: `, { code: detail }];
    case 'question':
      return ['A worker asked ', { code: what }, ', and was answered ', { code: detail }];
    case 'witness':
      return ['The witness stepped in: ', { code: detail }];
  }
}
