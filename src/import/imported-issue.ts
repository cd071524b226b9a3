/* Issues in the same form, whatever tracker they come from. */

export const sources = ['beads', 'gastown', 'gascity', 'github'] as const;
export type Source = (typeof sources)[number];

/** What an issue is. Only `work` and `epic` can become tasks. */
export type IssueKind =
  | 'work'
  /** Groups others; without others it is work itself. */
  | 'epic'
  /** Never work itself: a convoy, a molecule, a milestone. */
  | 'container'
  /** Waits for something outside: a person, a timer, a build. */
  | 'gate'
  /** Finished work that waits to be merged. */
  | 'merge'
  /** A message, an agent, a role: not work. */
  | 'record';

export type IssueText = { readonly heading: string | null; readonly text: string };

export type ImportedIssue = {
  readonly id: string;
  readonly title: string;
  readonly kind: IssueKind;
  /** As the tracker calls it. */
  readonly type: string;
  readonly isConvoy: boolean;
  readonly status: string;
  readonly isClosed: boolean;
  /** It was closed because it failed, was rejected or abandoned. */
  readonly hasFailed: boolean;
  /** 0 is the highest; null if the tracker gives none. */
  readonly priority: number | null;
  readonly labels: readonly string[];
  readonly texts: readonly IssueText[];
  readonly minutes: number | null;
  readonly url: string | null;
  readonly updatedAt: string;
  readonly edges: readonly ImportedEdge[];
  /** Fields with a value that a plan has no place for. */
  readonly unused: readonly string[];
  /** Where it was read, for messages. */
  readonly place: string;
};

/** What a dependency means for the order of work. */
export type EdgeMeaning =
  /** `from` starts after `to` is done. */
  | 'waits'
  /** `from` starts after all parts of `to` are done. */
  | 'waits-for-parts'
  /** `from` starts after the first of them. */
  | 'waits-for-any'
  /** `from` starts only if `to` fails. */
  | 'on-failure'
  /** `from` is a part of `to`, and waits for what `to` waits for. */
  | 'part-of'
  /** The convoy `from` has the member `to`. */
  | 'has-member'
  /** Has no effect on the order. */
  | 'informs';

export type ImportedEdge = {
  readonly from: string;
  readonly to: string;
  /** As the tracker calls it. */
  readonly type: string;
  readonly means: EdgeMeaning;
};

/** Something that has no place in the plan, although it affects what runs or when. */
export type Lost = {
  readonly kind: 'issue' | 'dependency' | 'line' | 'database' | 'export';
  readonly id: string;
  readonly what: string;
  readonly why: string;
};

/** Everything that was read. */
export type Imported = {
  readonly source: Source;
  /** The files, as named in messages. */
  readonly files: readonly string[];
  readonly issues: readonly ImportedIssue[];
  /** What the tracker kept for agents to remember. */
  readonly memories: readonly { readonly key: string; readonly value: string }[];
  /** Records that are no issues, by type. */
  readonly otherRecords: { readonly [type: string]: number };
  readonly lost: readonly Lost[];
  /** What a reader should know before trusting the plan, in sentences. */
  readonly notes: readonly string[];
};
