import { lookUp } from '../../keyed.ts';
import { readCurrent } from '../../state/current.ts';
import type { List, Note, State } from '../../state/lists.ts';
import type { Millis } from '../../types.ts';
import { gatherChanged, gatherCode, gatherDisk, gatherReadFirst } from './code.ts';
import {
  type BriefItem,
  type BriefSubject,
  type Gathered,
  type Keyed,
  sayFirst,
  sayOnce,
  sortNewest,
} from './items.ts';
import type { Origins } from './origin.ts';
import { findBriefSource } from './source.ts';
import { formatMoment, plainText } from './text.ts';
import { gatherDone, gatherFailing, gatherLeft, gatherRuns } from './work.ts';

type SectionKind = {
  readonly name: string;
  readonly label: string;
  /** What one of its items is called where some are left out. */
  readonly noun: string;
  /** An item a line, or all of them on one. */
  readonly style: 'list' | 'line';
  readonly gather: (subject: BriefSubject) => Gathered;
};

/**
 * The sections, most important first; where room is short, what stands lower goes first.
 * First what is wanted, then what stands in its way and what is to be done, then what must not be tried or decided
 * again, then where to look, and last what is good to know.
 */
const kinds = [
  { name: 'asked', label: 'Asked', noun: 'request', style: 'line', gather: gatherAsked },
  { name: 'now', label: 'Now', noun: 'current task', style: 'line', gather: gatherNow },
  { name: 'plan', label: 'Plan', noun: 'plan', style: 'line', gather: gatherPlan },
  { name: 'said', label: 'Last said', noun: 'last message', style: 'line', gather: gatherSaid },
  {
    name: 'blockers',
    label: 'Blocked by',
    noun: 'blocker',
    style: 'list',
    gather: ({ state }) => gatherTexts(state.blockers, 10, ({ value }) => value.resolvedAt === null),
  },
  {
    name: 'failing',
    label: 'Failing',
    noun: 'failure',
    style: 'list',
    gather: ({ state }) => gatherFailing(state, 8),
  },
  { name: 'left', label: 'Left', noun: 'issue', style: 'list', gather: ({ state }) => gatherLeft(state, 15) },
  // A run's effects reach the outside world: whether they happened matters as much as what is left to do.
  {
    name: 'runs',
    label: 'Unfinished runs',
    noun: 'unfinished run',
    style: 'list',
    gather: ({ state }) => gatherRuns(state, 5),
  },
  { name: 'disk', label: 'Disk', noun: 'disk check', style: 'line', gather: gatherDisk },
  {
    name: 'tried',
    label: 'Tried, failed',
    noun: 'failed attempt',
    style: 'list',
    gather: ({ state }) => gatherTexts(state.tried, 10),
  },
  { name: 'decided', label: 'Decided', noun: 'decision', style: 'list', gather: gatherDecided },
  { name: 'summary', label: 'Summed up', noun: 'summary', style: 'line', gather: gatherSummary },
  {
    name: 'read',
    label: 'Read first',
    noun: 'recommended file',
    style: 'line',
    gather: ({ state }) => gatherReadFirst(state, 8),
  },
  { name: 'code', label: 'Code', noun: 'hint', style: 'list', gather: gatherCode },
  {
    name: 'changed',
    label: 'Changed',
    noun: 'changed file',
    style: 'line',
    gather: ({ state }) => gatherChanged(state, 6),
  },
  { name: 'notes', label: 'Notes', noun: 'note', style: 'list', gather: gatherNotes },
  {
    name: 'done',
    label: 'Done',
    noun: 'done issue',
    style: 'line',
    gather: ({ state }) => gatherDone(state, 8),
  },
] as const satisfies readonly SectionKind[];

/** A section of a brief. */
export type BriefSection = {
  readonly name: (typeof kinds)[number]['name'] | 'ended';
  readonly label: string;
  /** Said before the items, of all of them. */
  readonly lead: string | null;
  readonly items: readonly BriefItem[];
  /** How many more there are than it shows. */
  readonly leftOut: number;
};

/** A section with what it needs to be laid out. */
export type FullSection = BriefSection & Pick<SectionKind, 'noun' | 'style'>;

/** Everything a state has to say, section by section, without those that have nothing. */
export function gatherSections(subject: BriefSubject, origins: Origins): FullSection[] {
  return kinds
    .map(({ name, label, noun, style, gather }) => {
      const { lead = null, items, leftOut } = gather(subject);
      return { name, label, noun, style, lead, items: items.map(origins.mark), leftOut };
    })
    .filter(({ items }) => items.length > 0);
}

function gatherAsked({ state }: BriefSubject): Gathered {
  return sayWithTime(state, 'asked', 600);
}

function gatherSaid({ state }: BriefSubject): Gathered {
  return sayWithTime(state, 'lastMessage', 300);
}

/** Only of the session that is handed over: what was summed up before it began was told to it, and it went on. */
function gatherSummary({ state }: BriefSubject): Gathered {
  const at = lookUp(state.current, 'compactSummary')?.stamp[0] ?? 0;
  const from = findBriefSource(state)?.value.startedAt ?? Number.POSITIVE_INFINITY;
  return at < from ? sayOnce(null) : sayWithTime(state, 'compactSummary', 400);
}

/** Somebody's own words, and when they were said. */
function sayWithTime(
  state: State,
  key: 'asked' | 'lastMessage' | 'compactSummary',
  maxBytes: number,
): Gathered {
  const text = plainText(readCurrent(state, key)?.text ?? '', maxBytes);
  const [at, by] = lookUp(state.current, key)?.stamp ?? [];
  return sayOnce(text === '' || at === undefined ? null : `${text} (${formatMoment(at, state.clock)})`, by);
}

function gatherNow({ state }: BriefSubject): Gathered {
  const task = readCurrent(state, 'currentTask');
  const text = plainText(task?.text ?? '', 400);
  const by = lookUp(state.current, 'currentTask')?.stamp[1];
  return sayOnce(text === '' ? null : `${text}${task?.status === 'done' ? ' (done)' : ''}`, by);
}

/** Past this a plan may no longer be what is worked on. */
const staleAfter: Millis = 86_400_000;

/** What the user's ORCHESTRATION.yaml says of the work, and how old that is. */
function gatherPlan({ state }: BriefSubject): Gathered {
  const plan = readCurrent(state, 'resumptionState');
  if (plan === null) return sayOnce(null);
  const say = (label: string, text: unknown) =>
    typeof text === 'string' && text !== '' ? [`${label}${plainText(text, 200)}`] : [];
  const parts = [
    ...say('', plan.workflow),
    ...say('phase ', plan.phase),
    ...say('', plan.status),
    ...say('next: ', plan.nextStep),
  ];
  if (parts.length === 0) return sayOnce(null);
  const age = typeof plan.at === 'number' ? state.clock - plan.at : null;
  const when =
    age === null || plan.at === null
      ? 'of unknown age'
      : `of ${formatMoment(plan.at, state.clock)}${age > staleAfter ? ', stale' : ''}`;
  const by = lookUp(state.current, 'resumptionState')?.stamp[1];
  return sayOnce(`${parts.join('; ')} (ORCHESTRATION.yaml ${when})`, by);
}

function gatherDecided({ state }: BriefSubject): Gathered {
  return sayFirst(sortNewest(state.decisions), 10, ({ value }) => {
    const why = value.rationale === null ? '' : plainText(value.rationale, 200);
    return `${plainText(value.text, 240)}${why ? ` (${why})` : ''}`;
  });
}

function gatherNotes({ state }: BriefSubject): Gathered {
  return sayFirst(sortNewest(state.notes), 10, (note) => {
    const text = sayText(note);
    return text === '' ? '' : `${formatMoment(note.stamp[0], state.clock)} ${text}`;
  });
}

function gatherTexts(
  list: List<Note>,
  most: number,
  isShown: (entry: Keyed<Note>) => boolean = () => true,
): Gathered {
  return sayFirst(sortNewest(list).filter(isShown), most, sayText);
}

function sayText({ value }: Keyed<Note>): string {
  return plainText(value.text, 240);
}
