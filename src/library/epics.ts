import { readBase } from '../checkpoint/read.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { epicExists, readView } from '../session/context.ts';
import * as epics from '../session/epics.ts';
import * as names from '../session/rename.ts';
import { readAllViews, type UnreadableEpic } from '../session/resolve.ts';
import { describeEpic, describeMoney, type EpicStatus } from '../session/status.ts';
import type { EpicId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { using, type Where } from './where.ts';

/** An epic, wherever it is. */
export type EpicInfo = epics.EpicHoldings & {
  readonly state: 'active' | 'archived' | 'deleted';
  /** Where it stands; null for one in the trash. */
  readonly status: EpicStatus | null;
  /** When it was deleted. */
  readonly deletedAt: string | null;
};

export type EpicList = {
  readonly epics: readonly EpicInfo[];
  /** Those that cannot be read: they hide none of the others. */
  readonly unreadable: readonly UnreadableEpic[];
};

/** The epics there are, the last used first; with `all` those that are archived or in the trash too. */
export async function listEpics(
  options: { readonly all?: boolean } = {},
  where: Where = {},
): Promise<EpicList> {
  return using(where, async (orch) => {
    const { views, unreadable } = await readAllViews(orch);
    views.sort((a, b) => b.state.clock - a.state.clock);
    const found: EpicInfo[] = [];
    for (const view of views) {
      const held = await epics.readHoldings(orch, view);
      const state = held.archived ? ('archived' as const) : ('active' as const);
      if (held.archived && !options.all) continue;
      found.push({
        ...held,
        state,
        status: describeEpic(view, orch.home, orch.clock.now()),
        deletedAt: null,
      });
    }
    if (options.all)
      for (const trashed of await epics.listTrashed(orch)) found.push(await describeTrashed(orch, trashed));
    return { epics: found, unreadable };
  });
}

async function describeTrashed(orch: Orch, { epic, at, oid }: epics.TrashedEpic): Promise<EpicInfo> {
  const { state, seq } = await readBase(orch.git, epic, oid);
  const none = { snapshots: 0, remotes: [], archived: false };
  const held = { epicId: epic, checkpoints: seq, budget: describeMoney(state), ...none };
  return { ...held, state: 'deleted', status: null, deletedAt: formatInstant(at) };
}

/** Puts an epic away: it no longer appears in the status, and stays as it is. */
export async function archiveEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    await epics.archiveEpic(orch, epic, true);
  });
}

/** Gives an epic another name, with its history, money and snapshots; clones that sync follow. */
export async function renameEpic(epicId: string, name: string, where: Where = {}): Promise<void> {
  const [from, to] = [parseEpicId(epicId), parseEpicId(name)];
  return using(where, (orch) => names.renameEpic(orch, from, to));
}

/** Moves an epic to the trash, unless a session runs on it. */
export async function deleteEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    await epics.discardEpic(orch, epic);
  });
}

/** What a restore of an epic would bring back: one that is archived, or the last deleted of its name. */
export type Restorable = { readonly kind: 'archived' } | ({ readonly kind: 'trashed' } & epics.TrashedEpic);

export async function findRestorable(orch: Orch, epic: EpicId): Promise<Restorable> {
  const view = await readView(orch, epic);
  if (epicExists(view)) {
    const { archived } = await epics.readHoldings(orch, view);
    if (archived) return { kind: 'archived' };
    throw new OrchError('USAGE', `${epic} is neither archived nor deleted`, {
      hint: `See it with: orch log ${epic}`,
      data: { epicId: epic },
    });
  }
  const trashed = (await epics.listTrashed(orch)).find((one) => one.epic === epic);
  if (trashed) return { kind: 'trashed', ...trashed };
  throw new OrchError('EPIC_NOT_FOUND', `there is no epic ${epic}, neither here nor in the trash`, {
    hint: 'See what there is with: orch epic list --all',
    data: { epicId: epic },
  });
}

/** Takes an archived epic out again, or brings the last deleted of its name back from the trash. */
export async function restoreEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const found = await findRestorable(orch, epic);
    if (found.kind === 'archived') await epics.archiveEpic(orch, epic, false);
    else await epics.bringBackEpic(orch, found);
  });
}
