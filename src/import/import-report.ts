import type { Lost, Source } from './imported-issue.ts';

/** What became of everything that was read; the numbers of each part add up to `read`. */
export type ImportReport = {
  readonly source: Source;
  readonly files: readonly string[];
  readonly issues: {
    readonly read: number;
    readonly tasks: number;
    readonly closed: number;
    /** They only group others, and became labels and needs of those. */
    readonly grouping: number;
    readonly notWork: number;
    /** Older versions of an issue, or the same one again. */
    readonly repeated: number;
    /** Not part of the chosen convoy. */
    readonly leftOut: number;
    readonly lost: number;
  };
  readonly dependencies: {
    readonly read: number;
    readonly needs: number;
    /** What they wait for is done, or who waits. */
    readonly satisfied: number;
    /** They became labels or text. */
    readonly informing: number;
    readonly leftOut: number;
    readonly lost: number;
  };
  /** Tasks that were added to wait for large groups. */
  readonly joins: number;
  readonly lost: readonly Lost[];
  /** Issues and other records that are not work, by type. */
  readonly notWork: { readonly [type: string]: number };
  /** Tasks whose issue was not simply open, by status. */
  readonly unfinished: { readonly [status: string]: readonly string[] };
  /** Fields of tasks that a plan has no place for, and how many had them. */
  readonly notInPlan: { readonly [field: string]: number };
  readonly memories: readonly { readonly key: string; readonly value: string }[];
  /** Issues from whose text a secret was removed. */
  readonly redacted: readonly string[];
  readonly notes: readonly string[];
};
