import type { List, Note } from '../../state/lists.ts';
import {
  type BriefItem,
  type BriefSubject,
  formatAside,
  formatFirst,
  type Gathered,
  nameSession,
  sortNewest,
} from './brief-items.ts';
import { formatUtcTime, plainText } from './brief-text.ts';
import { gatherChanged, gatherCode, gatherDisk, gatherReadFirst } from './code-items.ts';
import type { Origins } from './line-origins.ts';
import {
  gatherApproved,
  gatherAsked,
  gatherDecided,
  gatherGoal,
  gatherMessages,
  gatherQuestions,
} from './request-items.ts';
import { gatherNow, gatherPlan, gatherRestored, gatherState, gatherSummary } from './state-items.ts';
import { gatherDone, gatherFailing, gatherLeft, gatherRuns } from './work-items.ts';

type SectionKind = readonly [
  name: string,
  label: string,
  /** What one item is called when some are left out. */
  noun: string,
  /** One item per line, or all on one line. */
  style: 'list' | 'line',
  /** The rank of the most important item (0 is never dropped), and how much each further item adds. */
  rank: readonly [first: number, step: number],
  gather: (subject: BriefSubject) => Gathered,
  /** Which items matter most: the first, or, in chronological sections, the last. */
  best?: 'first' | 'last',
];

/**
 * The sections in reading order: the goal, decisions, where the work stands and what is left, what failed before, where
 * to look, and last orch's own details. When space is short, the highest rank is dropped first; the goal never is.
 */
const kinds = [
  ['goal', 'Goal', 'goal', 'line', [0, 0], (of) => gatherGoal(of)],
  ['asked', 'Asked since', 'request', 'list', [2, 0.8], gatherAsked, 'last'],
  ['decided', 'Decided', 'decision', 'list', [2.5, 0.5], gatherDecided, 'last'],
  ['approved', 'Plan the user approved', 'plan', 'line', [5, 0], gatherApproved],
  ['restored', 'Restored', 'restore', 'line', [1.5, 0], gatherRestored],
  ['now', 'Now', 'current task', 'line', [3, 0], gatherNow],
  ['plan', 'Plan', 'plan', 'line', [4, 0], gatherPlan],
  ['blockers', 'Blocked by', 'blocker', 'list', [2, 0.6], (of) => gatherOpen(of, of.state.blockers, 10)],
  [
    'questions',
    'Asked of the user, not answered',
    'open question',
    'list',
    [3, 0.6],
    (of) => gatherOpen(of, of.state.questions, 5),
  ],
  ['failing', 'Failing', 'failure', 'list', [3, 0.6], ({ state }) => gatherFailing(state, 8)],
  ['left', 'Left', 'open task', 'list', [1, 0.5], ({ state }) => gatherLeft(state, 15)],
  ['tried', 'Tried, failed', 'failed attempt', 'list', [4, 0.5], gatherTried],
  // A run's effects reach the outside world: whether they happened matters as much as what is left.
  ['runs', 'Runs', 'run', 'list', [3, 0.5], ({ state, epicId }) => gatherRuns(state, 5, epicId)],
  ['said', 'Last said', 'last message', 'list', [3.5, 2], gatherMessages],
  ['done', 'Done', 'done task', 'line', [6, 0.5], ({ state }) => gatherDone(state, 8)],
  ['ended', 'State', 'figure', 'line', [5, 0.2], gatherState],
  ['disk', 'Disk', 'disk check', 'line', [4, 0], gatherDisk],
  ['read', 'Read first', 'recommended file', 'line', [6, 0.4], ({ state }) => gatherReadFirst(state, 8)],
  ['changed', 'Changed', 'changed file', 'line', [7, 0.3], ({ state }) => gatherChanged(state, 12)],
  ['notes', 'Notes', 'note', 'list', [8, 0.5], gatherNotes],
  ['summary', 'Summed up', 'summary', 'line', [8, 0], gatherSummary],
  ['since', 'Since then', 'question', 'line', [9, 1], gatherQuestions, 'last'],
  ['code', 'Code', 'hint', 'list', [10, 1], gatherCode],
] as const satisfies readonly SectionKind[];

/** A section of a brief. */
export type BriefSection = {
  readonly name: (typeof kinds)[number][0];
  readonly label: string;
  /** Introduces all items. */
  readonly lead: string | null;
  readonly items: readonly BriefItem[];
  /** How many more there are. */
  readonly leftOut: number;
};

/** A section with what the layout needs. */
export type FullSection = BriefSection & {
  readonly noun: string;
  readonly style: 'list' | 'line';
  readonly rank: readonly [first: number, step: number];
  readonly best: 'first' | 'last';
};

/** Gathers all sections that have items. */
export function gatherSections(subject: BriefSubject, origins: Origins): FullSection[] {
  const sections = kinds.map(([name, label, noun, style, rank, gather, best]): FullSection => {
    const { lead, items, leftOut }: Gathered = gather(subject);
    const layout = { noun, style, rank, best: best ?? 'first' } as const;
    return { name, label, ...layout, lead: lead ?? null, items: items.map(origins.mark), leftOut };
  });
  return sections.filter(({ items }) => items.length > 0);
}

function gatherNotes({ state }: BriefSubject): Gathered {
  return formatFirst(sortNewest(state.notes), 10, (note) => {
    const text = plainText(note.value.text, 240);
    return text && `${formatUtcTime(note.stamp[0], state.clock)} ${text}`;
  });
}

function gatherTried({ state }: BriefSubject): Gathered {
  return formatFirst(sortNewest(state.tried), 10, ({ value }) => {
    const why = value.why ? plainText(value.why, 160) : '';
    const text = plainText(value.text, 240);
    return text && `${text}${formatAside([nameSession(state, value.session)], why)}`;
  });
}

/** The open blockers or questions, newest first. */
function gatherOpen({ state }: BriefSubject, list: List<Note>, most: number): Gathered {
  const open = sortNewest(list).filter(({ value }) => value.resolvedAt === null);
  return formatFirst(open, most, ({ value }) => {
    const text = plainText(value.text, 240);
    return text && `${text}${formatAside([nameSession(state, value.session)])}`;
  });
}
