import * as held from '../checkpoint/local-budget.ts';
import { finishRenames, type Renamed } from '../epic/rename-epic.ts';
import { parseEpicId } from '../ids.ts';
import { checkLive, listLive } from '../journal/live.ts';
import type { Orch } from '../orch.ts';
import { checkNextCalls } from '../record/call-checks.ts';
import { isFromInside } from '../record/which/origin.ts';
import type { Millis } from '../types.ts';
import { using, type Where } from '../where.ts';
import { type Publication, previewPublication, type SyncPreview } from './publication.ts';
import { syncWithRemote } from './sync-epics.ts';
import { openSyncRemote } from './sync-facts.ts';
import type { SyncResult } from './tally.ts';
import { listUnsaved, type Unsaved } from './unpushed.ts';

export type SyncOptions = {
  /** Only this epic. */
  readonly epicId?: string;
  /** Include snapshots of the files? By default, the config decides. */
  readonly snapshots?: boolean;
  /** How long each exchange with the remote may take; two minutes by default. */
  readonly timeout?: Millis;
  /**
   * Called before anything is published to an address for the first time. Without it, nothing is published to an
   * address that the user has not approved.
   */
  readonly mayPublish?: (publication: Publication, remote: string) => boolean | Promise<boolean>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
};

export type Synced = SyncResult & {
  /** Epics that another clone renamed, and that have the new name here now too. */
  readonly renamed: readonly Renamed[];
  /** Recorded here but not in a checkpoint yet, so not sent yet. */
  readonly pending: readonly Unsaved[];
};

const defaultTimeout: Millis = 120_000;

/**
 * Syncs every epic with a remote (a name, a URL or a path; the configured one by default). Afterwards both sides have
 * everything that either of them had.
 */
export async function sync(
  remote: string | null = null,
  where: Where = {},
  options: SyncOptions = {},
): Promise<Synced> {
  return using(where, async (orch) => {
    const opened = await openRemoteOf(orch, remote, options);
    const mayPublish = async (publication: Publication, name: string) =>
      (await options.mayPublish?.(publication, name)) ?? false;
    try {
      const request = { ...(await readScope(orch, options)), mayPublish };
      const result = await syncWithRemote(orch, opened, request);
      const renamed = await finishRenames(orch, (await orch.readConfig()).sync.budgets === 'ask');
      // A rename may have joined two epics here, and the result has to be sent.
      const again = renamed.length > 0 ? await syncWithRemote(orch, opened, request) : null;
      const done = again === null ? result : combineResults(result, again);
      return { ...done, renamed, pending: await listUnsaved(orch) };
    } finally {
      // Another clone may have spent money, or lowered a budget.
      checkNextCalls(orch, null);
    }
  });
}

/** Combines the results of two syncs. For an epic in both, the second has its current commit. */
function combineResults(first: SyncResult, second: SyncResult): SyncResult {
  const combine = <T extends { readonly epicId: string }>(a: readonly T[], b: readonly T[]) => [
    ...a.filter(({ epicId }) => !b.some((other) => other.epicId === epicId)),
    ...b,
  ];
  return {
    ...second,
    pushed: combine(first.pushed, second.pushed),
    fetched: combine(first.fetched, second.fetched),
    merged: combine(first.merged, second.merged),
    raised: combine(first.raised, second.raised),
    snapshots: {
      pushed: first.snapshots.pushed + second.snapshots.pushed,
      fetched: first.snapshots.fetched + second.snapshots.fetched,
    },
    returned: [...new Set([...first.returned, ...second.returned])],
    errors: [...first.errors, ...second.errors],
  };
}

/**
 * Can a budget that another clone raised be accepted from here? An agent cannot accept it, and a running supervisor
 * accepts a higher limit only from the command that asks it for one.
 */
export async function canAcceptBudget(epicId: string, where: Where = {}): Promise<boolean> {
  const epic = parseEpicId(epicId);
  return using(where, async ({ home }) => {
    const isSupervised = listLive(home).some((live) => live.epic === epic && checkLive(live) !== 'dead');
    return !isSupervised && !isFromInside(home);
  });
}

/** Accepts, for this clone, a budget that another clone raised. */
export async function acceptBudget(epicId: string, where: Where = {}): Promise<void> {
  return using(where, async (orch) => held.acceptBudget(orch, parseEpicId(epicId)));
}

/** Returns what a sync would publish and fetch. Changes nothing. */
export async function previewSync(
  remote: string | null = null,
  where: Where = {},
  options: SyncOptions = {},
): Promise<SyncPreview> {
  return using(where, async (orch) =>
    previewPublication(orch, await openRemoteOf(orch, remote, options), await readScope(orch, options)),
  );
}

async function openRemoteOf(orch: Orch, given: string | null, options: SyncOptions) {
  const { timeout = defaultTimeout, signal, onProgress } = options;
  const configured = (await orch.readConfig()).sync.remote;
  return openSyncRemote(orch, {
    given,
    configured,
    mayUseAddress: orch.mayUseAddress,
    timeout,
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  });
}

async function readScope(orch: Orch, { epicId, snapshots }: SyncOptions) {
  return {
    epic: epicId === undefined ? null : parseEpicId(epicId),
    snapshots: snapshots ?? (await orch.readConfig()).sync.snapshots,
  };
}
