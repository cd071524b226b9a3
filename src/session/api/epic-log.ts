import { type Checkpoint, describeCommit, walkReadable } from '../../checkpoint/list.ts';
import { readLost } from '../../checkpoint/lost-objects.ts';
import { parseSince } from '../../cost/report.ts';
import type { Commit } from '../../git/engine.ts';
import { parseEpicId } from '../../ids.ts';
import type { SessionPorts } from '../../record/ports.ts';
import {
  describeSession,
  listShown,
  type SessionCondition,
  type SessionInfo,
  type SessionSummary,
  shownCondition,
  summarizeSession,
} from '../../record/sessions.ts';
import type { EpicView } from '../../record/view.ts';
import { isLeftBehind, listAbandoned } from '../../state/left-behind.ts';
import type { Millis } from '../../types.ts';
import { formatInstant, toMicros, toUsd } from '../../units.ts';
import { using, type Where } from '../../where.ts';
import { hasSeveralWriters, nameMachine } from '../epic-status.ts';
import { readExistingEpic } from '../find-session.ts';

/** A session of an epic, with what the user asked for in it and what came of it. */
export type LoggedSession = SessionInfo &
  SessionSummary & {
    /** Its condition as seen from this clone. */
    readonly fate: SessionCondition;
    /** When it last recorded something. */
    readonly seenAt: string;
    readonly reason: string | null;
    /** The machine it ran on; null if only one clone worked on the epic. */
    readonly machine: string | null;
  };

/** A checkpoint with what was spent and changed since the previous one. */
export type LoggedCheckpoint = Checkpoint & {
  /** `Session 7 · 6 files +212 −31 · tests 141/142 · +$0.41` */
  readonly figures: string;
  readonly spentUsd: number;
  /** Did a later session continue from an older checkpoint instead of this one? */
  readonly isAbandoned: boolean;
  /** Is its code lost in this clone? */
  readonly isCodeLost: boolean;
};

export type EpicLog = {
  readonly epicId: string;
  readonly sessions: readonly LoggedSession[];
  readonly checkpoints: readonly LoggedCheckpoint[];
  /** The number of the newest checkpoint. */
  readonly total: number;
};

export type LogOptions = {
  /** At most this many checkpoints; all by default. */
  readonly limit?: number;
  /** Only since then: `fri`, `2h`, `2026-11-16`. */
  readonly since?: string;
};

/** Reads an epic's history: its sessions with what happened in each, and its checkpoints; newest first. */
export async function readLog(epicId: string, options: LogOptions = {}, where: Where = {}): Promise<EpicLog> {
  const epic = parseEpicId(epicId);
  const { limit = Number.POSITIVE_INFINITY } = options;
  return using(where, async (orch) => {
    const since = options.since === undefined ? 0 : parseSince(options.since, orch.clock.now());
    const view = await readExistingEpic(orch, epic);
    const abandoned = listAbandoned(view.state);
    const lost = new Set<string>(readLost(orch.home).flatMap(({ checkpoints }) => checkpoints));
    const isShared = hasSeveralWriters(view);
    return {
      epicId: epic,
      sessions: listShown(view, orch.home).map((session) => ({
        ...describeSession(view, session),
        ...summarizeSession(view.state, session.id),
        fate: shownCondition(session),
        seenAt: formatInstant(session.value.seenAt),
        reason: session.value.reason,
        machine: isShared ? nameMachine(view, session.value) : null,
      })),
      checkpoints: (await listLogged(orch, view, limit, since)).map((checkpoint) => ({
        ...checkpoint,
        isAbandoned: isLeftBehind(abandoned, checkpoint.seq),
        isCodeLost: lost.has(checkpoint.id),
      })),
      total: view.saved?.document.seq ?? 0,
    };
  });
}

async function listLogged(ports: SessionPorts, view: EpicView, limit: number, since: Millis) {
  const logged: (Checkpoint & { figures: string; parents: readonly string[] })[] = [];
  const most = limit === Number.POSITIVE_INFINITY ? undefined : limit + 10;
  for await (const { commit, checkpoint } of walkCheckpoints(ports, view, most)) {
    // One more than is shown: the last one's costs count from there.
    const figures = commit.message.split('\n')[2] ?? '';
    logged.push({ ...checkpoint, figures, parents: commit.parents });
    if (logged.length > limit || commit.authoredAt < since) break;
  }
  const costs = new Map<string, number>(logged.map(({ commit, costUsd }) => [commit, costUsd]));
  return logged
    .filter(({ timestamp }, index) => index < limit && Date.parse(timestamp) >= since)
    .map(({ parents, ...checkpoint }, index) => {
      const [parent] = parents;
      // Where the history before it is damaged, the costs are unknown and count as none.
      const before =
        parent === undefined ? 0 : (costs.get(parent) ?? logged[index + 1]?.costUsd ?? checkpoint.costUsd);
      const isMerge = parents.length > 1;
      return {
        ...checkpoint,
        spentUsd: isMerge ? 0 : toUsd(Math.max(0, toMicros(checkpoint.costUsd) - toMicros(before))),
      };
    });
}

/** Walks an epic's checkpoints, newest first, as far back as they can be read; reports where that ends too early. */
export async function* walkCheckpoints(
  ports: SessionPorts,
  { epic, tip }: EpicView,
  most?: number,
): AsyncGenerator<{ readonly commit: Commit; readonly checkpoint: Checkpoint }> {
  if (tip.oid === null) return;
  const onDamage = (error: Error) => ports.report(`some checkpoints could not be read: ${error.message}`);
  for await (const commit of walkReadable(ports, epic, onDamage, most)) {
    const checkpoint = describeCommit(commit);
    if (checkpoint !== null) yield { commit, checkpoint };
  }
}
