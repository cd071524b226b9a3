import { OrchError } from '../../errors.ts';
import { count } from '../../units.ts';
import type { BriefItem } from './items.ts';
import type { BriefSection, FullSection } from './sections.ts';
import { sizeOf } from './text.ts';

export type Brief = {
  readonly markdown: string;
  /** About how many, rather too many than too few. */
  readonly tokens: number;
  /** The same for programs. */
  readonly sections: readonly BriefSection[];
};

/** What a brief could say: a title, how it ended, and everything else. */
export type BriefDraft = {
  readonly title: string;
  readonly ended: BriefSection;
  readonly sections: readonly FullSection[];
};

/** Said last, because what is read last is what an agent acts on. */
const closing = 'Background only; await instructions.';

/** Nobody reads more than this; and it keeps `brief.md` below 16 KB. */
const usualTokens = 4_000;

/**
 * Lays a brief out within a number of tokens. Items go one by one, the least important first; the very last to go
 * are the closing line and how it ended. A smaller limit never shows what a larger one leaves out.
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
  const sections = draft.sections.map((section) => ({ ...section, bullets: section.items.map(bulletOf) }));
  const shown = sections.map(({ items }) => items.length);
  const finish = (lines: readonly string[], counts: readonly number[] | null): Brief => ({
    markdown: `${lines.join('\n')}\n`,
    tokens: measure(lines),
    sections:
      counts === null
        ? []
        : [draft.ended, ...sections.map((section, at) => cutSection(section, counts[at] ?? 0))],
  });

  for (const dropped of [null, ...orderOfDropping(sections)]) {
    if (dropped !== null) shown[dropped] = (shown[dropped] ?? 0) - 1;
    const lines = layOut(draft, sections, shown);
    if (measure(lines) <= maxTokens) return finish(lines, shown);
  }
  const ended = lineOf(draft.ended, draft.ended.items);
  for (const lines of [
    [draft.title, ended, closing],
    [draft.title, ended],
  ]) {
    if (measure(lines) <= maxTokens) return finish(lines, shown);
  }
  const least = measure([draft.title]);
  if (least <= maxTokens) return finish([draft.title], null);
  throw new OrchError(
    'USAGE',
    `a brief does not fit into ${maxTokens} tokens; this one needs ${least} at the least`,
    {
      hint: `Allow ${least} tokens or more`,
      data: { maxTokens, minimum: least },
    },
  );
}

const newlineSize = sizeOf('\n');

/**
 * The sections to take the last item from, one after the other. A section's first item counts as much as the
 * second of the section above it: the tenth note of one kind matters less than the first of another.
 */
function orderOfDropping(sections: readonly FullSection[]): number[] {
  const places = sections.flatMap(({ items }, section) => items.map((_, item) => ({ section, item })));
  places.sort((a, b) => b.section + b.item - (a.section + a.item) || b.section - a.section);
  return places.map(({ section }) => section);
}

type Bulleted = FullSection & { readonly bullets: readonly string[] };

/** The lines of a brief that shows the first so many items of each section. */
function layOut(draft: BriefDraft, sections: readonly Bulleted[], shown: readonly number[]): string[] {
  const lines = [draft.title, lineOf(draft.ended, draft.ended.items)];
  // Without an empty line around a list, Markdown takes what follows it for a part of its last item.
  let isAfterList = false;
  const begin = (isList: boolean) => {
    if (isList || isAfterList) lines.push('');
    isAfterList = isList;
  };
  const leftOut: string[] = [];
  sections.forEach((section, at) => {
    const most = shown[at] ?? 0;
    const missing = section.leftOut + section.items.length - most;
    if (missing > 0) leftOut.push(count(missing, section.noun));
    if (most === 0) return;
    const isList = section.style === 'list' && most > 1;
    begin(isList);
    if (isList) lines.push(`**${section.label}:**`, ...section.bullets.slice(0, most));
    else lines.push(lineOf(section, section.items.slice(0, most)));
  });
  begin(false);
  if (leftOut.length > 0) lines.push(`(${leftOut.join(', ')} left out)`);
  lines.push(closing);
  return lines;
}

function bulletOf({ text }: BriefItem): string {
  return `- ${text}`;
}

function lineOf({ label, lead }: BriefSection, items: readonly BriefItem[]): string {
  return `**${label}:** ${lead === null ? '' : `${lead}: `}${items.map(({ text }) => text).join(', ')}`;
}

function cutSection({ name, label, lead, items, leftOut }: FullSection, shown: number): BriefSection {
  return { name, label, lead, items: items.slice(0, shown), leftOut: leftOut + items.length - shown };
}
