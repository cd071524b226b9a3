import type { Complexity } from '../plan/convoy-shape.ts';
import { isLabel, longestLabel } from '../plan/convoy-shape.ts';
import { cleanLine, cleanText, cutBytes } from '../text.ts';
import type { ImportedEdge, ImportedIssue } from './imported-issue.ts';

/* The words of a task. They come from others, so all of them are cleaned. */

/** The most of a parent's text that each of its parts repeats. */
const mostOfParent = 2_000;
const longestName = 64;

/** Names a task, on one line. */
export function nameTask({ title, id }: Pick<ImportedIssue, 'title' | 'id'>): string {
  const line =
    cleanLine(title, Number.POSITIVE_INFINITY) || cleanLine(id, Number.POSITIVE_INFINITY) || 'issue';
  if (line.length <= longestName) return line;
  // By characters, so that none is cut in half.
  let name = '';
  for (const character of line) {
    if (name.length + character.length > longestName - 1) break;
    name += character;
  }
  return `${name.trimEnd()}…`;
}

export type Surroundings = {
  readonly parents: readonly ImportedIssue[];
  readonly related: readonly { readonly edge: ImportedEdge; readonly issue: ImportedIssue | undefined }[];
};

/** Writes what an agent is asked to do: everything people wrote about the issue. */
export function writePrompt(issue: ImportedIssue, { parents, related }: Surroundings): string {
  const clean = (text: string) => cleanText(text, Number.POSITIVE_INFINITY);
  const title = clean(issue.title).replace(/\s+/g, ' ').trim() || issue.id;
  const comments = issue.texts.filter(({ heading }) => heading === 'Comment');
  const parts = [
    title,
    ...issue.texts
      .filter(({ heading }) => heading !== 'Comment')
      .map(({ heading, text }) => section(heading, clean(text))),
    section(
      comments.length === 1 ? 'Comment' : 'Comments',
      comments
        .map(({ text }) => clean(text).trim())
        .filter((text) => text !== '')
        .join('\n\n---\n\n'),
    ),
    ...parents.map((parent) =>
      section(
        `Part of ${cleanLine(parent.id, 200)}: ${cleanLine(parent.title, 500)}`,
        cutBytes(clean(parent.texts.find(({ text }) => text.trim() !== '')?.text ?? ''), mostOfParent),
        true,
      ),
    ),
    section(
      'See also',
      related
        .map(({ edge, issue: other }) => {
          const about = other === undefined ? '' : ` ${cleanLine(other.title, 200)}`;
          return `- ${cleanLine(edge.to, 200)}${about} (${cleanLine(edge.type, 60)})`;
        })
        .join('\n'),
    ),
    issue.url === null
      ? `(${cleanLine(issue.id, 200)})`
      : `(${cleanLine(issue.id, 200)}, ${cleanLine(issue.url, 500)})`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function section(heading: string | null, text: string, isKeptEmpty = false): string {
  const body = text.trim();
  if (body === '') return isKeptEmpty && heading !== null ? `## ${heading}` : '';
  return heading === null ? body : `## ${heading}\n\n${body}`;
}

/** Makes a label of a text; null if nothing is left of it. */
export function makeLabel(text: string): string | null {
  const line = cleanLine(text, Number.POSITIVE_INFINITY);
  const label = line.length <= longestLabel ? line : `${line.slice(0, longestLabel - 1).toWellFormed()}…`;
  return isLabel(label) ? label : null;
}

/** What an estimate says about how hard a task is. */
export function rateComplexity(minutes: number | null): Complexity | null {
  if (minutes === null) return null;
  if (minutes <= 15) return 'trivial';
  if (minutes <= 60) return 'simple';
  return minutes <= 240 ? 'standard' : 'complex';
}
