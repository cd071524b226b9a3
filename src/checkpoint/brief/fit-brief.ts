import { OrchError } from '../../errors.ts';
import { count } from '../../units.ts';
import type { BriefItem } from './brief-items.ts';
import { sizeOf } from './brief-text.ts';
import type { BriefSection, FullSection } from './sections.ts';

export type Brief = {
  readonly markdown: string;
  /** Approximate, rather too many than too few. */
  readonly tokens: number;
  /** The same content for programs. */
  readonly sections: readonly BriefSection[];
};

/** Everything a brief could contain. */
type BriefDraft = {
  readonly title: string;
  readonly sections: readonly FullSection[];
  /** The goal in at most so many bytes: it is shortened when everything else is gone. */
  readonly goal: (maxBytes: number) => readonly BriefItem[];
};

/** As much as an agent reads without losing track. */
const usualTokens = 1_500;

/**
 * Lays out a brief within a token limit. Items are dropped one by one, highest rank first; the goal stays and is only
 * shortened. A smaller limit never shows what a larger one leaves out.
 */
export function fitBrief(draft: BriefDraft, maxTokens: number = usualTokens): Brief {
  const sizes = new Map<string, number>();
  const measure = (lines: readonly string[]): number => {
    let size = 0;
    for (const line of lines) {
      const known = sizes.get(line) ?? sizeOf(line) + newlineSize;
      sizes.set(line, known);
      size += known;
    }
    return Math.ceil(size / 4);
  };
  const finish = (lines: readonly string[], sections: readonly FullSection[]): Brief => ({
    markdown: `${lines.join('\n')}\n`,
    tokens: measure(lines),
    sections: sections.map(({ noun: _, style: __, rank: ___, best: ____, ...section }) => section),
  });
  const shown = draft.sections.map(({ items }) => new Set(items.keys()));
  const places = orderOfDropping(draft.sections);
  for (const dropped of [null, ...places]) {
    if (dropped !== null) shown[dropped.section]?.delete(dropped.item);
    const sections = draft.sections.map((section, at) => cutSection(section, shown[at] ?? new Set()));
    const lines = layOut(draft.title, sections);
    if (measure(lines) <= maxTokens) return finish(lines, sections);
  }
  const goal = draft.sections.find(({ name }) => name === 'goal');
  for (let bytes = 800; goal && bytes >= 25; bytes /= 2) {
    const section = { ...goal, items: draft.goal(bytes) };
    const lines = layOut(draft.title, [section]);
    if (measure(lines) <= maxTokens) return finish(lines, [section]);
  }
  const least = measure([draft.title]);
  if (least <= maxTokens) return finish([draft.title], []);
  throw new OrchError(
    'USAGE',
    `the brief does not fit into ${maxTokens} tokens; it needs at least ${least}`,
    {
      hint: `Allow at least ${least} tokens.`,
      data: { maxTokens, minimum: least },
    },
  );
}

const newlineSize = sizeOf('\n');

type Place = { readonly section: number; readonly item: number; readonly rank: number };

/** The items in the order they are dropped, all but the goal. */
function orderOfDropping(sections: readonly FullSection[]): Place[] {
  const places = sections.flatMap(({ name, items, rank: [first, step], best }, section) => {
    if (name === 'goal') return [];
    return [...items.keys()].map((item): Place => {
      const behind = best === 'first' ? item : items.length - 1 - item;
      return { section, item, rank: first + behind * step };
    });
  });
  return places.sort((a, b) => b.rank - a.rank || b.section - a.section || b.item - a.item);
}

/** The lines of a brief. */
function layOut(title: string, sections: readonly FullSection[]): string[] {
  const lines = [title];
  // Without an empty line around a list, Markdown takes the next line for a part of its last item.
  let isAfterList = false;
  const begin = (isList: boolean) => {
    if (isList || isAfterList) lines.push('');
    isAfterList = isList;
  };
  const leftOut: string[] = [];
  for (const section of sections) {
    const { label, noun, style, items } = section;
    if (section.leftOut > 0) leftOut.push(count(section.leftOut, noun));
    if (items.length === 0) continue;
    const isList = style === 'list' && items.length > 1;
    begin(isList);
    if (isList) lines.push(`**${label}:**`, ...items.map(({ text }) => `- ${text}`));
    else lines.push(lineOf(section));
  }
  if (leftOut.length > 0) {
    begin(false);
    lines.push(`(${leftOut.join(', ')} left out)`);
  }
  return lines;
}

/** Items may contain commas, so dots separate them. */
function lineOf({ label, lead, items }: FullSection): string {
  return `**${label}:** ${lead === null ? '' : `${lead}: `}${items.map(({ text }) => text).join(' · ')}`;
}

function cutSection(section: FullSection, shown: ReadonlySet<number>): FullSection {
  const items = section.items.filter((_, at) => shown.has(at));
  return { ...section, items, leftOut: section.leftOut + section.items.length - items.length };
}
