import type { Listing } from '../checkpoint/list.ts';
import { hasCode } from '../errors.ts';
import { readListing } from '../library/checkpoints.ts';
import type { Orch } from '../orch.ts';
import { epicExists, readView } from '../session/context.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run.ts';

/** Lists an epic's checkpoints, and says what damage keeps from the list. An epic that has only begun has none yet. */
export async function listOrTell(
  { out }: Context,
  orch: Orch,
  epic: EpicId,
  limit = Number.POSITIVE_INFINITY,
): Promise<Listing> {
  const listing = await readListing(epic, { limit }, orch).catch(async (error: unknown): Promise<Listing> => {
    if (!hasCode(error, 'EPIC_NOT_FOUND') || !epicExists(await readView(orch, epic))) throw error;
    return { checkpoints: [], total: 0, damaged: null };
  });
  const { damaged } = listing;
  if (damaged) {
    out.tell(`orch: some could not be read: ${damaged.message}`);
    out.tell('      Look closer with: orch checkpoint verify');
  }
  return listing;
}
