import { isRecord } from '../checks.ts';
import { count } from '../units.ts';
import type { Imported, ImportedEdge, ImportedIssue, Lost } from './imported-issue.ts';
import { type ExportRecords, importInvalid, readTextField } from './read-export.ts';

/* The output of `gh issue list --json …`, or of GitHub's API. */

type Issue = { readonly [key: string]: unknown };

const usedFields = new Set([
  ...['number', 'title', 'body', 'labels', 'state', 'stateReason', 'state_reason', 'milestone', 'url'],
  ...['html_url', 'comments', 'id', 'node_id', 'parent', 'blockedBy', 'subIssues', 'closed'],
]);

/** What makes an issue one that only tracks others. */
const trackingLabel = /^(epic|tracking|tracking[ -]issue|meta|umbrella)$/i;

/** The numbers of issues that `gh issue list` stops at unless told otherwise, or that people tell it. */
const usualLimits = [30, 100, 500, 1000];

export function readGithub({ records, bad }: ExportRecords): Omit<Imported, 'source' | 'files'> {
  const lost: Lost[] = bad.map(({ place, why }) => ({ kind: 'line', id: place, what: place, why }));
  const issues: ImportedIssue[] = [];
  const otherRecords: { [type: string]: number } = {};
  refuseForeign(records.map(({ value }) => value));
  for (const { value, place } of records) {
    if (value.pull_request !== undefined)
      otherRecords['pull request'] = (otherRecords['pull request'] ?? 0) + 1;
    else if (typeof value.number !== 'number')
      lost.push({ kind: 'line', id: place, what: place, why: 'has no number' });
    else {
      const own = readEdges(value, value.number);
      issues.push(readIssue(value, value.number, place, own));
    }
  }
  const fromText = issues.flatMap(({ edges }) => edges).filter(({ type }) => type.endsWith('(text)')).length;
  const notes = [
    ...(fromText > 0
      ? [`${count(fromText, 'dependency').replace(/ys$/, 'ies')} read from texts: check them`]
      : []),
    ...(usualLimits.includes(records.length)
      ? [`exactly ${records.length} issues: gh may have stopped there; its --limit says how many it lists`]
      : []),
    ...(records.every(({ value }) => value.body === undefined)
      ? [
          'no issue has a body: export it too, with gh issue list --json number,title,body,labels,state,milestone,url',
        ]
      : []),
  ];
  return { issues, memories: [], otherRecords, lost, notes };
}

function refuseForeign([first]: readonly Issue[]): void {
  if (first === undefined || first.number !== undefined) return;
  if (typeof first.id === 'string' || first._type !== undefined || first._schema !== undefined)
    throw importInvalid(
      'these are issues of Beads, not of GitHub',
      'Import them with: orch import beads FILE',
    );
}

/** A task's id must not look like a number to YAML, or to people. */
const nameIssue = (number: number | string) => `gh-${number}`;

function readIssue(issue: Issue, number: number, place: string, found: readonly FoundEdge[]): ImportedIssue {
  const hasParts = found.some(({ isPart }) => isPart);
  const labels = readNames(issue.labels);
  const state = (readTextField(issue.state) || (issue.closed === true ? 'closed' : 'open')).toLowerCase();
  const reason = (readTextField(issue.stateReason) || readTextField(issue.state_reason)).toLowerCase();
  const body = readTextField(issue.body);
  const isTracking = hasParts && (labels.some((label) => trackingLabel.test(label)) || hasOnlyTasks(body));
  const milestone = isRecord(issue.milestone) ? readTextField(issue.milestone.title) : '';
  const comments = Array.isArray(issue.comments) ? issue.comments : [];
  return {
    id: nameIssue(number),
    title: readTextField(issue.title),
    kind: isTracking ? 'epic' : 'work',
    type: isTracking ? 'epic' : 'task',
    isConvoy: false,
    status: state,
    isClosed: state === 'closed',
    hasFailed: reason === 'not_planned',
    priority: readPriority(labels),
    labels: [...labels, ...(milestone === '' ? [] : [`milestone:${milestone}`])],
    texts: [
      { heading: null, text: body },
      ...comments.map((comment: unknown) => ({
        heading: 'Comment',
        text: isRecord(comment) ? readTextField(comment.body) : '',
      })),
    ],
    minutes: null,
    url: readTextField(issue.html_url) || readTextField(issue.url) || null,
    updatedAt: readTextField(issue.updatedAt) || readTextField(issue.updated_at),
    edges: found.map(({ edge }) => edge),
    unused: Object.keys(issue).filter((field) => {
      const value = issue[field];
      const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0);
      return !usedFields.has(field) && !isEmpty;
    }),
    place,
  };
}

function readNames(labels: unknown): string[] {
  if (!Array.isArray(labels)) return [];
  return labels.map((label: unknown) => readTextField(isRecord(label) ? label.name : label));
}

const priorityWords = ['critical', 'high', 'medium', 'low'];

/** Reads `P1`, `priority: high` and the like. */
function readPriority(labels: readonly string[]): number | null {
  for (const label of labels) {
    const [, digit] = /^(?:priority[\s:/-]*)?p?([0-4])$/i.exec(label) ?? [];
    if (digit !== undefined) return Number(digit);
    const [, word = ''] = /^(?:priority|prio|p)[\s:/-]+(\w+)$/i.exec(label) ?? [];
    const place = priorityWords.indexOf(word.toLowerCase());
    if (place >= 0) return place;
  }
  return null;
}

type FoundEdge = { readonly edge: ImportedEdge; readonly isPart: boolean };

function readEdges(issue: Issue, number: number): FoundEdge[] {
  const id = nameIssue(number);
  const home = homeOf(readTextField(issue.html_url) || readTextField(issue.url));
  const waits = (to: string, type: string): FoundEdge => ({
    edge: { from: id, to, type, means: 'waits' },
    isPart: false,
  });
  const part = (child: string, type: string): FoundEdge => ({
    edge: { from: child, to: id, type, means: 'part-of' },
    isPart: true,
  });
  const parent = isRecord(issue.parent) ? issue.parent.number : undefined;
  const lines = readProse(readTextField(issue.body));
  return [
    ...lines.flatMap((line) => readBlockers(line, home).map((to) => waits(to, 'blocked by (text)'))),
    ...lines.flatMap((line) => readPart(line, home).map((child) => part(child, 'task list (text)'))),
    ...readNumbers(issue.blockedBy).map((to) => waits(nameIssue(to), 'blocked by')),
    ...readNumbers(issue.subIssues).map((child) => part(nameIssue(child), 'sub-issue')),
    ...(typeof parent === 'number'
      ? [
          {
            edge: { from: id, to: nameIssue(parent), type: 'parent', means: 'part-of' as const },
            isPart: false,
          },
        ]
      : []),
  ];
}

function readNumbers(given: unknown): number[] {
  const list = isRecord(given) ? given.nodes : given;
  if (!Array.isArray(list)) return [];
  return list.flatMap((each: unknown) =>
    isRecord(each) && typeof each.number === 'number' ? [each.number] : [],
  );
}

/** `https://github.com/owner/name/issues/3` → `owner/name` */
function homeOf(url: string): string | null {
  return /^https?:\/\/[^/]+\/(?:repos\/)?([^/]+\/[^/]+)\/issues\/\d+/.exec(url)?.[1]?.toLowerCase() ?? null;
}

/** The lines of a body outside of code and quotations. */
function readProse(body: string): string[] {
  let isCode = false;
  return body.split(/\r?\n/).filter((line) => {
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    return !isFence && !isCode && !/^(\s*>|\t| {4,}(?![-*+]))/.test(line);
  });
}

const reference = String.raw`(?:https?:\/\/[^\s/]+\/[\w.-]+\/[\w.-]+\/issues\/\d+|(?:[\w.-]+\/[\w.-]+)?#\d+)`;
const blockedBy = new RegExp(
  String.raw`^[\s*_+-]*(?:blocked[ -]by|depends[ -](?:up)?on)[*_]*\s*:?[\s*_]*(${reference}(?:\s*(?:(?:,|&|and)\s*)+${reference})*)`,
  'i',
);
const taskLine = new RegExp(String.raw`^\s*[-*+]\s+\[[ xX]\]\s+(${reference})`);

function readBlockers(line: string, home: string | null): string[] {
  const [, list = ''] = blockedBy.exec(line) ?? [];
  return (list.match(new RegExp(reference, 'g')) ?? []).map((text) => resolve(text, home));
}

function readPart(line: string, home: string | null): string[] {
  const [, found] = taskLine.exec(line) ?? [];
  const id = found === undefined ? null : resolve(found, home);
  // A task list that names issues elsewhere stays text.
  return id?.startsWith('gh-') ? [id] : [];
}

/** `#12` → `gh-12`; an issue of another repository keeps its name, which no issue here has. */
function resolve(text: string, home: string | null): string {
  const [, number = ''] = /(\d+)$/.exec(text) ?? [];
  const [, repository] = /^(?:https?:\/\/[^/]+\/)?([\w.-]+\/[\w.-]+)(?:#|\/issues\/)/.exec(text) ?? [];
  const isHere = repository === undefined || repository.toLowerCase() === home;
  return isHere ? nameIssue(number) : `${repository}#${number}`;
}

/** Has a body nothing but a task list, headings and empty lines? */
function hasOnlyTasks(body: string): boolean {
  return body.split(/\r?\n/).every((line) => /^\s*($|#|[-*+]\s+\[[ xX]\])/.test(line));
}
