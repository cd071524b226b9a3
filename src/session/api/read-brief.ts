import { findSuccessor } from '../../checkpoint/brief/brief-source.ts';
import type { Brief } from '../../checkpoint/brief/fit-brief.ts';
import { parseEpicId } from '../../ids.ts';
import type { SessionId } from '../../types.ts';
import { using, type Where } from '../../where.ts';
import { readExistingEpic } from '../find-session.ts';
import { handOver } from '../handover.ts';

export type BriefOptions = {
  /** Leaves out what matters least. */
  readonly maxTokens?: number;
  /** The brief at this checkpoint, by its name. */
  readonly checkpoint?: string;
};

/** The brief of an epic, and the session it is about. */
export type EpicBrief = Brief & {
  /** The brief for an agent, marked as quoted material. */
  readonly quoted: string;
  readonly from: { readonly id: SessionId; readonly number: number } | null;
  /** The session that already got it; null if none did. */
  readonly handedOverTo: ReturnType<typeof findSuccessor> | null;
};

/** Reads the brief for the next agent or person who works on an epic. */
export async function readBrief(
  epicId: string,
  options: BriefOptions = {},
  where: Where = {},
): Promise<EpicBrief> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const view = await readExistingEpic(orch, epic);
    const { brief, quoted, from } = await handOver(orch, view, options.checkpoint ?? null, options.maxTokens);
    return { ...brief, quoted, from, handedOverTo: from && findSuccessor(view.state, from.id) };
  });
}
