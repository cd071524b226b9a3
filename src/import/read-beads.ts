import { isRecord } from '../checks.ts';
import { lookUp } from '../keyed.ts';
import { cleanLine } from '../text.ts';
import type {
  EdgeMeaning,
  ImportedEdge,
  ImportedIssue,
  IssueKind,
  IssueText,
  Lost,
} from './imported-issue.ts';
import {
  type ExportRecord,
  type ExportRecords,
  importInvalid,
  readTextField,
  readTexts,
} from './read-export.ts';

/* The export of Beads, which Gas Town and Gas City write too. */

type Bead = ExportRecord['value'];

export type Beads = {
  readonly issues: readonly ImportedIssue[];
  readonly memories: readonly { readonly key: string; readonly value: string }[];
  readonly otherRecords: { readonly [type: string]: number };
  readonly lost: readonly Lost[];
  readonly notes: readonly string[];
};

/** The types that affect when work starts; every other one informs. */
const meanings: { readonly [type: string]: EdgeMeaning } = {
  blocks: 'waits',
  'conditional-blocks': 'on-failure',
  'waits-for': 'waits-for-parts',
  'parent-child': 'part-of',
};

const kinds: { readonly [type: string]: IssueKind } = {
  epic: 'epic',
  convoy: 'container',
  molecule: 'container',
  milestone: 'container',
  gate: 'gate',
  'merge-request': 'merge',
  ...Object.fromEntries(
    [
      'message',
      'event',
      'agent',
      'role',
      'rig',
      'channel',
      'queue',
      'group',
      'escalation',
      'merge-slot',
      'slot',
      'standing-orders',
      'config',
    ].map((type): [string, IssueKind] => [type, 'record']),
  ),
};

/** Statuses of issues on which nothing is left to do. */
const closedStatuses = ['closed', 'tombstone', 'done'];

/** With such a reason, what runs only after a failure runs. */
const failureReason = /failed|rejected|wontfix|won't fix|cancell?ed|abandoned|blocked|error|timeout|aborted/i;

const sections: readonly (readonly [field: string, heading: string | null])[] = [
  ['description', null],
  ['design', 'Design'],
  ['acceptance_criteria', 'Acceptance criteria'],
  ['notes', 'Notes'],
];

/** Fields that are in the plan, or say nothing outside their tracker. */
const usedFields = new Set([
  ...['_type', 'id', 'title', 'status', 'priority', 'issue_type', 'labels', 'dependencies', 'comments'],
  ...['estimated_minutes', 'parent', 'needs', 'ref', 'is_blocked', 'close_reason', 'closed_at'],
  ...['dependency_count', 'dependent_count', 'comment_count', 'compaction_level', 'content_hash'],
  ...sections.map(([field]) => field),
]);

/** Reads the records of one or more exports as issues. */
export function readBeads({ records, bad }: ExportRecords): Beads {
  refuseForeign(records);
  const issues: ImportedIssue[] = [];
  const memories: { key: string; value: string }[] = [];
  const otherRecords: { [type: string]: number } = {};
  const notes: string[] = [];
  const lost: Lost[] = bad.map(({ place, why }) => ({ kind: 'line', id: place, what: place, why }));
  const byRef = findRefs(records);
  for (const { value, place } of records) {
    if (value._schema !== undefined && value.id === undefined) {
      const schema = cleanLine(String(value._schema), 60);
      if (!schema.startsWith('beads-jsonl/1'))
        notes.push(`${place} says its format is ${schema}, which orch does not know: check the plan`);
      continue;
    }
    const type = readTextField(value._type) || 'issue';
    if (type === 'memory') memories.push(readMemory(value));
    else if (type !== 'issue') otherRecords[type] = (otherRecords[type] ?? 0) + 1;
    else if (typeof value.id !== 'string' || value.id.trim() === '')
      lost.push({ kind: 'line', id: place, what: place, why: 'has no id' });
    else issues.push(readBead(value, value.id, place, readEdges(value, value.id, byRef)));
  }
  return { issues, memories, otherRecords, lost, notes };
}

function refuseForeign(records: readonly ExportRecord[]): void {
  const first = records.find(({ value }) => value._schema === undefined)?.value;
  if (first === undefined || first.id !== undefined || first._type !== undefined) return;
  if (typeof first.number === 'number')
    throw importInvalid(
      'these are issues of GitHub, not of Beads',
      'Import them with: orch import github FILE',
    );
}

function readMemory({ key, value, text, content }: Bead) {
  return {
    key: readTextField(key),
    value: [value, text, content].map(readTextField).find((each) => each !== '') ?? '',
  };
}

function readBead(bead: Bead, id: string, place: string, edges: readonly ImportedEdge[]): ImportedIssue {
  const status = readTextField(bead.status) || 'open';
  const labels = readTexts(bead.labels);
  const type = readType(bead, labels);
  const isClosed =
    closedStatuses.includes(status) ||
    (readTextField(bead.closed_at) !== '' && status !== 'open') ||
    hasValue(bead.deleted_at);
  const isAside =
    isTrue(bead.ephemeral) || isTrue(bead.is_template) || status === 'pinned' || isTrue(bead.pinned);
  const minutes = bead.estimated_minutes;
  return {
    id,
    title: readTextField(bead.title),
    kind: isAside ? 'record' : (lookUp(kinds, type) ?? 'work'),
    type: isAside && type === 'task' ? 'pinned or template' : type,
    isConvoy: type === 'convoy',
    status,
    isClosed,
    hasFailed: isClosed && failureReason.test(readTextField(bead.close_reason)),
    priority: typeof bead.priority === 'number' && Number.isFinite(bead.priority) ? bead.priority : null,
    labels,
    texts: readSections(bead),
    minutes: typeof minutes === 'number' && minutes > 0 ? minutes : null,
    url: /^https?:\/\//.test(readTextField(bead.external_ref)) ? readTextField(bead.external_ref) : null,
    updatedAt: readTextField(bead.updated_at),
    edges,
    unused: Object.keys(bead).filter((field) => !usedFields.has(field) && hasValue(bead[field])),
    place,
  };
}

/** Gas Town marks what is no work with a label: `gt:rig`, `gt:role`. */
function readType(bead: Bead, labels: readonly string[]): string {
  const type = readTextField(bead.issue_type) || 'task';
  const marked = labels.flatMap((label) => (label.startsWith('gt:') ? [label.slice(3)] : []));
  return marked.find((word) => lookUp(kinds, word) !== undefined) ?? type;
}

const isTrue = (value: unknown) => value === true || value === 1;
const hasValue = (value: unknown) =>
  ![undefined, null, '', 0, false, '{}', '[]'].includes(value as null) &&
  !(typeof value === 'object' && Object.keys(value ?? {}).length === 0);

function readSections(bead: Bead): IssueText[] {
  const comments = Array.isArray(bead.comments) ? bead.comments : [];
  return [
    ...sections.map(([field, heading]) => ({ heading, text: readTextField(bead[field]) })),
    ...comments.map((comment: unknown) => ({
      heading: 'Comment',
      text: isRecord(comment) ? readTextField(comment.text) : readTextField(comment),
    })),
  ];
}

/** Finds the steps that others name by a reference, within the same parent. */
function findRefs(records: readonly ExportRecord[]): ReadonlyMap<string, string> {
  return new Map(
    records.flatMap(({ value: { ref, id, parent } }) =>
      typeof ref === 'string' && typeof id === 'string' ? [[`${parent}\n${ref}`, id] as const] : [],
    ),
  );
}

function readEdges(bead: Bead, id: string, byRef: ReadonlyMap<string, string>): ImportedEdge[] {
  const isConvoy = readType(bead, readTexts(bead.labels)) === 'convoy';
  const given = Array.isArray(bead.dependencies) ? bead.dependencies : [];
  const edges = given.map((each: unknown) => readEdge(each, id, isConvoy));
  const parent = readTextField(bead.parent);
  const isKnown = edges.some(({ means, to }) => means === 'part-of' && to === parent);
  return [
    ...edges,
    ...(parent === '' || isKnown
      ? []
      : [{ from: id, to: parent, type: 'parent', means: 'part-of' as const }]),
    ...readTexts(bead.needs).map((need) => ({
      from: id,
      to: byRef.get(`${bead.parent}\n${need}`) ?? need,
      type: 'needs',
      means: 'waits' as const,
    })),
  ];
}

function readEdge(given: unknown, id: string, isConvoy: boolean): ImportedEdge {
  // A list of plain ids was written by early versions.
  if (!isRecord(given)) return { from: id, to: String(given), type: 'blocks', means: 'waits' };
  const type = readTextField(given.type) || readTextField(given.dependency_type) || 'blocks';
  const known = lookUp(meanings, type) ?? 'informs';
  const isAny = known === 'waits-for-parts' && /any-children/.test(JSON.stringify(given.metadata ?? ''));
  return {
    from: readTextField(given.issue_id) || id,
    to: readTextField(given.depends_on_id) || readTextField(given.id),
    type,
    means: isAny ? 'waits-for-any' : isConvoy && type === 'tracks' ? 'has-member' : known,
  };
}
