import * as held from '../checkpoint/held-budgets.ts';
import type { Publication } from '../checkpoint/publication.ts';
import { type SyncResult, syncWith } from '../checkpoint/sync.ts';
import type { SyncPreview } from '../checkpoint/sync-preview.ts';
import { openSyncRemote } from '../checkpoint/sync-remote.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { wakeAgents } from '../session/calm-files.ts';
import { type Renamed, settleNames } from '../session/rename.ts';
import { listUnsaved, type Unsaved } from '../session/unsaved.ts';
import type { Millis } from '../types.ts';
import { using, type Where } from './where.ts';

export type SyncOptions = {
  /** Only this epic. */
  readonly epicId?: string;
  /** Do the working trees go along? As the config says by default. */
  readonly snapshots?: boolean;
  /** How long each exchange with the remote may take; two minutes by default. */
  readonly timeout?: Millis;
  /**
   * Asked before anything is published to an address for the first time. Without it, and where the user never said yes
   * to that address, nothing is published.
   */
  readonly mayPublish?: (publication: Publication, remote: string) => boolean | Promise<boolean>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
};

export type Synced = SyncResult & {
  /** Renamed by another clone, and so here. */
  readonly renamed: readonly Renamed[];
  /** Recorded here and in no checkpoint yet: it goes along with the next one. */
  readonly pending: readonly Unsaved[];
};

const defaultTimeout: Millis = 120_000;

/**
 * Brings this clone and a remote (a name, a URL or a path; the configured one by default) together: what each knows of
 * every epic, the other knows afterwards.
 */
export async function sync(
  remote: string | null = null,
  where: Where = {},
  options: SyncOptions = {},
): Promise<Synced> {
  return using(where, async (orch) => {
    const opened = await open(orch, remote, options);
    const mayPublish = async (publication: Publication, name: string) =>
      (await options.mayPublish?.(publication, name)) ?? false;
    try {
      const wish = { ...(await readWish(orch, options)), mayPublish };
      const result = await syncWith(orch, opened, wish);
      // What was joined under a new name is to be sent too.
      const renamed = await settleNames(orch, (await orch.readConfig()).sync.budgets === 'ask');
      const again = renamed.length > 0 ? await syncWith(orch, opened, wish) : null;
      const done = again === null ? result : addUp(result, again);
      return { ...done, renamed, pending: await listUnsaved(orch) };
    } finally {
      // Another clone may have spent, or lowered a budget.
      wakeAgents(orch, null);
    }
  });
}

/** Two syncs as one; of an epic that both speak of, the second knows where it is now. */
function addUp(first: SyncResult, second: SyncResult): SyncResult {
  const both = <T extends { readonly epicId: string }>(a: readonly T[], b: readonly T[]) => [
    ...a.filter(({ epicId }) => !b.some((other) => other.epicId === epicId)),
    ...b,
  ];
  return {
    ...second,
    pushed: both(first.pushed, second.pushed),
    fetched: both(first.fetched, second.fetched),
    merged: both(first.merged, second.merged),
    raised: both(first.raised, second.raised),
    snapshots: {
      pushed: first.snapshots.pushed + second.snapshots.pushed,
      fetched: first.snapshots.fetched + second.snapshots.fetched,
    },
    returned: [...new Set([...first.returned, ...second.returned])],
    errors: [...first.errors, ...second.errors],
  };
}

/** Lets a budget that another clone raised count in this clone too. */
export async function acceptBudget(epicId: string, where: Where = {}): Promise<void> {
  return using(where, async (orch) => held.acceptBudget(orch, parseEpicId(epicId)));
}

/** What a sync would publish and fetch now. Nothing is changed. */
export async function previewSync(
  remote: string | null = null,
  where: Where = {},
  options: SyncOptions = {},
): Promise<SyncPreview> {
  return using(where, async (orch) => {
    const preview = await import('../checkpoint/sync-preview.ts');
    return preview.previewSync(orch, await open(orch, remote, options), await readWish(orch, options));
  });
}

async function open(orch: Orch, given: string | null, options: SyncOptions) {
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

async function readWish(orch: Orch, { epicId, snapshots }: SyncOptions) {
  return {
    epic: epicId === undefined ? null : parseEpicId(epicId),
    snapshots: snapshots ?? (await orch.readConfig()).sync.snapshots,
  };
}
