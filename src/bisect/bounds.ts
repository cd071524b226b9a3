import { findCheckpoint } from '../checkpoint/names.ts';
import { OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import { findCheckpointCode } from '../restore/find-target.ts';
import type { EpicId, Oid } from '../types.ts';
import type { Verdict } from './next-step.ts';
import { readRecorded, type Version, type Versions } from './versions.ts';

/** The part of an epic's history to search. */
export type Bounds = {
  /** From the one that should be good to the one that should be bad. */
  readonly versions: readonly Version[];
  /** What the record says about this gate, by tree. */
  readonly recorded: ReadonlyMap<Oid, Verdict>;
  readonly withoutCode: number;
  /** Did the user name the good one, and the bad one? */
  readonly isNamed: { readonly good: boolean; readonly bad: boolean };
  /** Looks further back for a good one; null if there is none to be had. */
  widen(): Promise<Bounds | null>;
};

type BoundsRequest = {
  readonly epic: EpicId;
  /** Null for a command, of which the record knows nothing. */
  readonly gate: string | null;
  readonly listed: Versions;
  readonly good: string | undefined;
  readonly bad: string | undefined;
};

/**
 * Chooses where to search. By default the bad one is the newest with code, and the good one the newest before it on
 * which the gate passed according to the record, or, if only all gates together are known, on which those did, or else
 * the oldest with code.
 */
export async function chooseBounds(orch: Orch, request: BoundsRequest): Promise<Bounds> {
  const { epic, listed, good, bad } = request;
  const { versions } = listed;
  const to = bad === undefined ? versions.length - 1 : await findNamed(orch, epic, versions, bad);
  const least = good === undefined ? 0 : await findNamed(orch, epic, versions, good);
  if (versions.length === 0 || (versions.length === 1 && good === undefined)) throw tooFew(epic, listed);
  const [from, until] = [versions[least], versions[to]];
  if (from && until && least >= to) {
    const isSame = least === to;
    const isDefault = good === undefined;
    throw new OrchError(
      'USAGE',
      isDefault
        ? `ckpt ${until.checkpoint.seq} is the oldest checkpoint with code, so there is no good one before it`
        : `ckpt ${from.checkpoint.seq} (good) is ${isSame ? 'the same as' : 'newer than'} ckpt ${until.checkpoint.seq} (bad)`,
      { hint: `The good one must be older. List them: orch checkpoint list -e ${epic} --all` },
    );
  }
  const recorded = new Map<Oid, Verdict>();
  return walkBack(orch, request, { least, to, from: to, recorded });
}

type Walk = {
  /** Not to be passed: the named good one, or the oldest. */
  readonly least: number;
  readonly to: number;
  readonly from: number;
  readonly recorded: Map<Oid, Verdict>;
};

/** Walks back from a position to the newest one that should be good. */
async function walkBack(
  orch: Orch,
  request: BoundsRequest,
  { least, to, from, recorded }: Walk,
): Promise<Bounds> {
  const { gate, listed, good } = request;
  const { versions, withoutCode } = listed;
  let start = from;
  for (let index = from; index >= least; index--) {
    const version = versions[index];
    if (version === undefined) break;
    const verdict = gate === null ? null : await readRecorded(orch, version, gate);
    if (verdict !== null && !recorded.has(version.tree)) recorded.set(version.tree, verdict);
    start = index;
    // The bad one may have been recorded as good: then it is run, and what it shows now counts.
    if (index === to) continue;
    if (verdict === 'good') break;
    if (good === undefined && verdict === null && version.checkpoint.gates === 'green') break;
  }
  const last = versions[to];
  if (last && recorded.get(last.tree) === 'good') recorded.delete(last.tree);
  const [oldest, newest] = [versions[start], last];
  // Positions count from the newest.
  const between = withoutCode.filter(
    ({ index }) => index < (oldest?.found.index ?? 0) && index > (newest?.found.index ?? 0),
  );
  return {
    versions: versions.slice(start, to + 1),
    recorded,
    withoutCode: between.length,
    isNamed: { good: good !== undefined && start === least, bad: request.bad !== undefined },
    widen: async () =>
      start <= least ? null : walkBack(orch, request, { least, to, from: start - 1, recorded }),
  };
}

/** Finds the position of a named checkpoint. Fails if it was saved without code, or if that is not here. */
async function findNamed(
  orch: Orch,
  epic: EpicId,
  versions: readonly Version[],
  name: string,
): Promise<number> {
  const { checkpoint } = await findCheckpoint(orch, epic, name);
  const position = (id: string) => versions.findIndex((version) => version.checkpoint.id === id);
  const index = position(checkpoint.id);
  if (index >= 0) return index;
  // `latest` and `s7` then mean the newest with code before it; for others, this explains why there is none.
  const { source } = await findCheckpointCode(orch, epic, name);
  return source.kind === 'checkpoint' ? position(source.checkpoint.id) : -1;
}

function tooFew(epic: EpicId, { versions, withoutCode }: Versions): OrchError {
  const [only] = versions;
  const without =
    withoutCode.length > 0 ? ` (${withoutCode.length} were saved without code, or it is not here)` : '';
  return new OrchError(
    'BISECT_FAILED',
    only
      ? `${epic} has only one checkpoint with code, ckpt ${only.checkpoint.seq}${without}: there is nothing to compare it with`
      : `${epic} has no checkpoint with code${without}`,
    {
      hint: 'Save the code with: orch checkpoint create. To fetch what other clones saved: orch sync',
      data: { epicId: epic },
    },
  );
}
