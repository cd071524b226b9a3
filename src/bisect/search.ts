import type { Checkpoint } from '../checkpoint/list.ts';
import type { CommandLine } from '../config/load.ts';
import { hasCode, OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import type { Bounds } from './bounds.ts';
import type { KeptResults, Outcome } from './kept-results.ts';
import { type Candidate, estimateTries, nextStep, type Step, type Verdict } from './next-step.ts';
import { openScratchWorktree, type ScratchWorktree } from './scratch-worktree.ts';
import { tryCommand } from './try-command.ts';
import type { Version } from './versions.ts';

/** What is judged by. */
export type Subject = {
  /** Null for a command. */
  readonly gate: string | null;
  readonly command: CommandLine;
  /** Its name in messages. */
  readonly label: string;
  readonly timeout: Millis | null;
};

export type Search = {
  readonly epic: EpicId;
  readonly subject: Subject;
  readonly bounds: Bounds;
  /** The top of the user's working tree. */
  readonly top: string;
  /** The folder below it that the command runs in; empty for the top. */
  readonly folder: string;
  readonly setup: string | null;
  readonly copy: readonly string[];
  readonly timeout: Millis | null;
  readonly results: KeptResults;
  readonly onEvent: (event: BisectEvent) => void;
  readonly signal: AbortSignal | undefined;
};

/** One checkpoint whose code was judged. */
export type Try = Outcome & { readonly checkpoint: Checkpoint; readonly from: Source };

/** Where a verdict comes from: `orch baseline` or the like recorded it, this call ran it, or an earlier one did. */
export type Source = 'record' | 'run' | 'earlier run';

export type BisectEvent =
  | {
      readonly kind: 'start';
      readonly checkpoints: number;
      readonly good: Checkpoint;
      readonly bad: Checkpoint;
      readonly withoutCode: number;
      /** Checkpoints that an earlier call of the same search has judged. */
      readonly earlier: number;
    }
  | { readonly kind: 'worktree'; readonly path: string }
  /** `about`: how many tries it takes altogether, as far as can be said. */
  | {
      readonly kind: 'trying';
      readonly number: number;
      readonly about: number;
      readonly checkpoint: Checkpoint;
    }
  | ({ readonly kind: 'tried'; readonly number: number; readonly about: number } & Try);

/** What a search has found. */
export type Found = {
  readonly good: Version;
  readonly bad: Version;
  /** Between the two, and impossible to judge. */
  readonly between: readonly Version[];
  readonly bounds: Bounds;
  /** What was run by this call, in order. */
  readonly tries: readonly Try[];
};

/** Searches until the answer is known; null if the signal stopped it. */
export async function search(orch: Orch, request: Search): Promise<Found | null> {
  const { results, onEvent, signal } = request;
  let { bounds } = request;
  announce(request);
  const tries: Try[] = [];
  let scratch: ScratchWorktree | null = null;
  const at = (index: number) => versionAt(bounds, index);
  try {
    for (;;) {
      const candidates = listCandidates(bounds, results);
      const step = nextStep(candidates);
      if (step.kind === 'found') {
        const [good, bad] = [at(step.good), at(step.bad)];
        return { good, bad, between: step.between.map(at), bounds, tries };
      }
      if (step.kind === 'wrong bound') {
        const wider = await widenFor(step, bounds);
        if (wider === null) throw wrongBound(request, bounds, step);
        bounds = wider;
        continue;
      }
      if (signal?.aborted) return null;
      const version = at(step.index);
      const number = tries.length + 1;
      const about = tries.length + Math.max(1, estimateTries(candidates));
      onEvent({ kind: 'trying', number, about, checkpoint: version.checkpoint });
      scratch ??= await openFor(orch, request, version);
      const outcome = await tryVersion(orch, request, scratch, version);
      if (outcome === null) return null;
      await results.add(version.tree, outcome);
      const made: Try = { ...outcome, checkpoint: version.checkpoint, from: 'run' };
      tries.push(made);
      onEvent({ kind: 'tried', number, about, ...made });
    }
  } catch (error) {
    if (signal?.aborted) return null; // it stopped a copy
    throw error;
  } finally {
    await scratch?.close();
  }
}

function announce({ bounds, results, onEvent }: Search): void {
  const { versions, withoutCode } = bounds;
  const earlier = versions.filter(({ tree }) => results.get(tree) !== undefined).length;
  onEvent({
    kind: 'start',
    checkpoints: versions.length,
    good: versionAt(bounds, 0).checkpoint,
    bad: versionAt(bounds, versions.length - 1).checkpoint,
    withoutCode,
    earlier,
  });
}

function versionAt({ versions }: Bounds, index: number): Version {
  const version = versions[index];
  if (version === undefined) throw new Error(`there is no candidate ${index}`);
  return version;
}

function listCandidates({ versions, recorded }: Bounds, results: KeptResults): Candidate[] {
  return versions.map(({ tree }) => {
    const verdict = results.get(tree)?.verdict;
    return { tree, verdict: verdict ?? recorded.get(tree) ?? null, isRun: verdict !== undefined };
  });
}

async function openFor(orch: Orch, { subject, copy, top, onEvent, signal }: Search, { commit }: Version) {
  const reason = `orch bisect is trying ${subject.label} here, and removes it when it is done`;
  const scratch = await openScratchWorktree(orch, { commit, reason, copy, top, signal });
  onEvent({ kind: 'worktree', path: scratch.path });
  return scratch;
}

async function tryVersion(
  orch: Orch,
  { subject, setup, timeout, folder, signal }: Search,
  scratch: ScratchWorktree,
  { commit }: Version,
): Promise<Outcome | null> {
  const began = orch.clock.elapsed();
  try {
    await scratch.show(commit);
  } catch (error) {
    if (!isIncomplete(error)) throw error;
    const durationMs = Math.round(orch.clock.elapsed() - began);
    return { verdict: 'skip', why: 'its code is not completely in this clone', durationMs, output: '' };
  }
  return tryCommand({
    command: subject.command,
    setup,
    timeout: timeout ?? Number.POSITIVE_INFINITY,
    cwd: scratch.findFolder(folder),
    marker: scratch.marker,
    signal,
    clock: orch.clock,
    redact: orch.redact,
  });
}

/** Does git say that objects are missing? */
function isIncomplete(error: unknown): boolean {
  return (
    hasCode(error, 'GIT_FAILED') &&
    /unable to read|missing blob|missing object|invalid object|bad object/.test(String(error.data.stderr))
  );
}

/** A good one that was only assumed and proves to be bad is a newer bad one: an older one may be good. */
async function widenFor(
  { index, verdict }: WrongBound,
  { versions, recorded, widen }: Bounds,
): Promise<Bounds | null> {
  const tree: Oid | undefined = versions[0]?.tree;
  const isAssumed = tree !== undefined && recorded.get(tree) !== 'good';
  return index === 0 && verdict !== 'good' && isAssumed ? widen() : null;
}

type WrongBound = Extract<Step, { kind: 'wrong bound' }>;

const missingHint =
  'If it lacks ignored files such as node_modules, add --copy node_modules, or --setup with a command that installs them.';

function wrongBound(
  { subject, results, epic }: Search,
  bounds: Bounds,
  { index, verdict }: WrongBound,
): OrchError {
  const { versions, recorded, isNamed } = bounds;
  const { checkpoint, tree } = versionAt(bounds, index);
  const outcome = results.get(tree);
  const { label } = subject;
  const name = `ckpt ${checkpoint.seq}`;
  const why = outcome ? ` (${outcome.why})` : '';
  const isGoodBound = index === 0 && verdict !== 'good';
  const isOneTree = versions.every((version) => version.tree === tree);
  const fail = (message: string, hint: string) => {
    // What is wrong may be around the code: the next call tries again.
    results.forget();
    const data = {
      epicId: epic,
      seq: checkpoint.seq,
      verdict: wordOf(verdict),
      output: outcome?.output ?? '',
    };
    return new OrchError('BISECT_FAILED', message, { hint, data });
  };
  if (isOneTree && versions.length > 1) {
    const first = versionAt(bounds, 0).checkpoint.seq;
    return fail(
      `ckpt ${first} to ckpt ${versionAt(bounds, versions.length - 1).checkpoint.seq} all have the same code: nothing between them can have broken ${label}`,
      'Name others with --good NAME and --bad NAME. The code of now counts once it is saved: orch checkpoint create',
    );
  }
  if (verdict === 'skip')
    return fail(
      `${label} cannot say whether ${name} is good or bad: ${outcome?.why ?? 'unknown'}`,
      `Name another with ${isGoodBound ? '--good' : '--bad'} NAME. ${missingHint}`,
    );
  if (!isGoodBound)
    return fail(
      isNamed.bad
        ? `${name} is not bad: ${label} passes there`
        : `${label} passes on ${name}, the newest checkpoint with code: there is nothing to find`,
      isNamed.bad
        ? `Name one on which ${label} fails: --bad NAME`
        : 'If it fails on your files of now, save them first: orch checkpoint create. Or name one on which it fails: --bad NAME',
    );
  if (recorded.get(tree) === 'good')
    return fail(
      `${label} passed on ${name} when it was recorded, but fails there now${why}`,
      `Something other than the code has changed. ${missingHint}`,
    );
  return fail(
    isNamed.good
      ? `${name} is not good: ${label} fails there${why}`
      : `${label} fails on ${name} too, the oldest checkpoint with code${why}`,
    `${isNamed.good ? 'Name an older one: --good NAME.' : 'If it worked later, name a checkpoint where it did: --good NAME.'} ${missingHint}`,
  );
}

export function wordOf(verdict: Verdict): 'good' | 'bad' | 'skipped' {
  return verdict === 'skip' ? 'skipped' : verdict;
}
