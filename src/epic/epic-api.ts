import { epicNotFound } from '../checkpoint/list.ts';
import { readBase } from '../checkpoint/read-base.ts';
import { OrchError } from '../errors.ts';
import { isTaskOf, parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { epicExists, readView } from '../record/view.ts';
import { readAllViews, type UnreadableEpic } from '../record/which/which-epic.ts';
import { describeEpic, describeMoney, type EpicStatus, isConvoyEpic } from '../session/epic-status.ts';
import type { EpicId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { using, type Where } from '../where.ts';
import * as epics from './epics.ts';
import * as names from './rename-epic.ts';

/** An epic: active, archived or in the trash. */
export type EpicInfo = epics.EpicHoldings & {
  readonly state: 'active' | 'archived' | 'deleted';
  /** Null for an epic in the trash. */
  readonly status: EpicStatus | null;
  readonly deletedAt: string | null;
};

export type EpicList = {
  readonly epics: readonly EpicInfo[];
  /** Epics that cannot be read. */
  readonly unreadable: readonly UnreadableEpic[];
};

/** Lists the epics, the last used first; with `all`, also those that are archived or in the trash. */
export async function listEpics(
  options: { readonly all?: boolean } = {},
  where: Where = {},
): Promise<EpicList> {
  return using(where, async (orch) => {
    const { views, unreadable } = await readAllViews(orch);
    views.sort((a, b) => b.state.clock - a.state.clock);
    const convoys = views.filter(isConvoyEpic).map(({ epic }) => epic);
    const isTask = (epic: EpicId) => convoys.some((convoy) => isTaskOf(epic, convoy));
    // The epics of a convoy's tasks are shown with the convoy.
    const own = views.filter(({ epic }) => options.all || !isTask(epic));
    const found: EpicInfo[] = [];
    for (const view of own) {
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

/** Returns what an epic consists of before it is changed. Refuses an epic that a session is running on. */
export async function readHoldings(orch: Orch, epic: EpicId): Promise<epics.EpicHoldings> {
  const view = await readView(orch, epic);
  if (!epicExists(view)) throw epicNotFound(epic);
  epics.refuseRunning(orch, epic);
  return epics.readHoldings(orch, view);
}

/**
 * Returns what a rename would rename, and refuses a name that is taken. Null if the epic was renamed already: a crash
 * may have interrupted that rename, and this call finishes it.
 */
export async function prepareRename(
  orch: Orch,
  from: EpicId,
  to: EpicId,
): Promise<epics.EpicHoldings | null> {
  if (await names.finishRename(orch, from, to)) return null;
  const held = await readHoldings(orch, from);
  await names.refuseName(orch, from, to);
  return held;
}

/** Archives an epic: it no longer appears in the status. */
export async function archiveEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    await epics.setArchived(orch, epic, true);
  });
}

/** Renames an epic, with its history, money and snapshots. Other clones follow with their next sync. */
export async function renameEpic(epicId: string, name: string, where: Where = {}): Promise<void> {
  const [from, to] = [parseEpicId(epicId), parseEpicId(name)];
  return using(where, (orch) => names.renameEpic(orch, from, to));
}

/** Moves an epic to the trash, unless a session is running on it. */
export async function deleteEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    await epics.withEpic(orch, epic, () => epics.saveAndTrashEpic(orch, epic));
  });
}

/** An epic that is archived, or the last deleted one of that name. */
type Restorable = { readonly kind: 'archived' } | ({ readonly kind: 'trashed' } & epics.TrashedEpic);

/** Finds what `restoreEpic` would bring back. */
export async function findRestorable(orch: Orch, epic: EpicId): Promise<Restorable> {
  const view = await readView(orch, epic);
  if (epicExists(view)) {
    const { archived } = await epics.readHoldings(orch, view);
    if (archived) return { kind: 'archived' };
    throw new OrchError('USAGE', `${epic} is neither archived nor deleted`, {
      hint: `See its log: orch log ${epic}`,
      data: { epicId: epic },
    });
  }
  const trashed = (await epics.listTrashed(orch)).find((one) => one.epic === epic);
  if (trashed) return { kind: 'trashed', ...trashed };
  throw new OrchError('EPIC_NOT_FOUND', `there is no epic ${epic}, neither here nor in the trash`, {
    hint: 'List all epics: orch epic list --all',
    data: { epicId: epic },
  });
}

/** Unarchives an epic, or brings the last deleted one of that name back from the trash. */
export async function restoreEpic(epicId: string, where: Where = {}): Promise<void> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const found = await findRestorable(orch, epic);
    if (found.kind === 'archived') await epics.setArchived(orch, epic, false);
    else await epics.restoreTrashed(orch, found);
  });
}
