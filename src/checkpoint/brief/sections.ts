import type { List, Note } from '../../state/lists.ts';
import { gatherChanged, gatherCode, gatherDisk, gatherReadFirst } from './code.ts';
import {
  type BriefItem,
  type BriefSubject,
  type Gathered,
  type Keyed,
  nameSession,
  sayAside,
  sayFirst,
  sortNewest,
} from './items.ts';
import type { Origins } from './origin.ts';
import {
  gatherApproved,
  gatherAsked,
  gatherDecided,
  gatherGoal,
  gatherMessages,
  gatherQuestions,
} from './requests.ts';
import { gatherNow, gatherPlan, gatherRestored, gatherStanding, gatherSummary } from './standing.ts';
import { formatMoment, plainText } from './text.ts';
import { gatherDone, gatherFailing, gatherLeft, gatherRuns } from './work.ts';

type SectionKind = {
  readonly name: string;
  readonly label: string;
  /** What one of its items is called where some are left out. */
  readonly noun: string;
  /** An item a line, or all of them on one. */
  readonly style: 'list' | 'line';
  /** How much its most important item matters (0 is all), and how much less each further one does. */
  readonly rank: readonly [first: number, step: number];
  /** Which of its items matter most: those in front, or, where they are in the order of time, the last. */
  readonly best?: 'first' | 'last';
  readonly gather: (subject: BriefSubject) => Gathered;
};

/**
 * The sections in the order they are read: what is wanted, what was decided, where the work stands and what is left,
 * what must not be tried again, where to look, and last orch's own machinery. Where room is short, what has the highest
 * rank goes first; the goal never does.
 */
const kinds = [
  { name: 'goal', label: 'Goal', noun: 'goal', style: 'line', rank: [0, 0], gather: (of) => gatherGoal(of) },
  {
    name: 'asked',
    label: 'Asked since',
    noun: 'request',
    style: 'list',
    rank: [2, 0.8],
    best: 'last',
    gather: gatherAsked,
  },
  {
    name: 'decided',
    label: 'Decided',
    noun: 'decision',
    style: 'list',
    rank: [2.5, 0.5],
    best: 'last',
    gather: gatherDecided,
  },
  {
    name: 'approved',
    label: 'Plan the user approved',
    noun: 'plan',
    style: 'line',
    rank: [5, 0],
    gather: gatherApproved,
  },
  {
    name: 'restored',
    label: 'Restored',
    noun: 'restore',
    style: 'line',
    rank: [1.5, 0],
    gather: gatherRestored,
  },
  { name: 'now', label: 'Now', noun: 'current task', style: 'line', rank: [3, 0], gather: gatherNow },
  { name: 'plan', label: 'Plan', noun: 'plan', style: 'line', rank: [4, 0], gather: gatherPlan },
  {
    name: 'blockers',
    label: 'Blocked by',
    noun: 'blocker',
    style: 'list',
    rank: [2, 0.6],
    gather: (of) => gatherTexts(of, of.state.blockers, 10, ({ value }) => value.resolvedAt === null),
  },
  {
    name: 'questions',
    label: 'Asked of the user, not answered',
    noun: 'open question',
    style: 'list',
    rank: [3, 0.6],
    gather: (of) => gatherTexts(of, of.state.questions, 5, ({ value }) => value.resolvedAt === null),
  },
  {
    name: 'failing',
    label: 'Failing',
    noun: 'failure',
    style: 'list',
    rank: [3, 0.6],
    gather: ({ state }) => gatherFailing(state, 8),
  },
  {
    name: 'left',
    label: 'Left',
    noun: 'open task',
    style: 'list',
    rank: [1, 0.5],
    gather: ({ state }) => gatherLeft(state, 15),
  },
  {
    name: 'tried',
    label: 'Tried, failed',
    noun: 'failed attempt',
    style: 'list',
    rank: [4, 0.5],
    gather: ({ state }) =>
      sayFirst(sortNewest(state.tried), 10, ({ value }) => {
        const why = value.why ? plainText(value.why, 160) : '';
        const text = plainText(value.text, 240);
        return text && `${text}${sayAside([nameSession(state, value.session)], why)}`;
      }),
  },
  // A run's effects reach the outside world: whether they happened matters as much as what is left to do.
  {
    name: 'runs',
    label: 'Unfinished runs',
    noun: 'unfinished run',
    style: 'list',
    rank: [3, 0.5],
    gather: ({ state }) => gatherRuns(state, 5),
  },
  {
    name: 'said',
    label: 'Last said',
    noun: 'last message',
    style: 'list',
    rank: [3.5, 2],
    gather: gatherMessages,
  },
  {
    name: 'done',
    label: 'Done',
    noun: 'done task',
    style: 'line',
    rank: [6, 0.5],
    gather: ({ state }) => gatherDone(state, 8),
  },
  {
    name: 'ended',
    label: 'State',
    noun: 'figure',
    style: 'line',
    rank: [5, 0.2],
    gather: gatherStanding,
  },
  { name: 'disk', label: 'Disk', noun: 'disk check', style: 'line', rank: [4, 0], gather: gatherDisk },
  {
    name: 'read',
    label: 'Read first',
    noun: 'recommended file',
    style: 'line',
    rank: [6, 0.4],
    gather: ({ state }) => gatherReadFirst(state, 8),
  },
  {
    name: 'changed',
    label: 'Changed',
    noun: 'changed file',
    style: 'line',
    rank: [7, 0.3],
    gather: ({ state }) => gatherChanged(state, 12),
  },
  { name: 'notes', label: 'Notes', noun: 'note', style: 'list', rank: [8, 0.5], gather: gatherNotes },
  {
    name: 'summary',
    label: 'Summed up',
    noun: 'summary',
    style: 'line',
    rank: [8, 0],
    gather: gatherSummary,
  },
  {
    name: 'since',
    label: 'Since then',
    noun: 'question',
    style: 'line',
    rank: [9, 1],
    best: 'last',
    gather: gatherQuestions,
  },
  { name: 'code', label: 'Code', noun: 'hint', style: 'list', rank: [10, 1], gather: gatherCode },
] as const satisfies readonly SectionKind[];

/** A section of a brief. */
export type BriefSection = {
  readonly name: (typeof kinds)[number]['name'];
  readonly label: string;
  /** Said before the items, of all of them. */
  readonly lead: string | null;
  readonly items: readonly BriefItem[];
  /** How many more there are than it shows. */
  readonly leftOut: number;
};

/** A section with what it needs to be laid out. */
export type FullSection = BriefSection & Pick<SectionKind, 'noun' | 'style' | 'rank' | 'best'>;

/** Everything a state has to say, section by section, without those that have nothing. */
export function gatherSections(subject: BriefSubject, origins: Origins): FullSection[] {
  return kinds
    .map((kind: SectionKind & { readonly name: BriefSection['name'] }) => {
      const { gather, ...about } = kind;
      const { lead = null, items, leftOut } = gather(subject);
      return { ...about, lead, items: items.map(origins.mark), leftOut };
    })
    .filter(({ items }) => items.length > 0);
}

function gatherNotes({ state }: BriefSubject): Gathered {
  return sayFirst(sortNewest(state.notes), 10, (note) => {
    const text = plainText(note.value.text, 240);
    return text === '' ? '' : `${formatMoment(note.stamp[0], state.clock)} ${text}`;
  });
}

function gatherTexts(
  { state }: BriefSubject,
  list: List<Note>,
  most: number,
  isShown: (entry: Keyed<Note>) => boolean = () => true,
): Gathered {
  return sayFirst(sortNewest(list).filter(isShown), most, ({ value }) => {
    const text = plainText(value.text, 240);
    return text && `${text}${sayAside([nameSession(state, value.session)])}`;
  });
}
