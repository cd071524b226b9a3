import type { Draft } from '../checkpoint/compose.ts';
import { checkRunFiles, type RunFile } from '../checkpoint/run-files.ts';
import { type Stored, save } from '../checkpoint/store.ts';
import type { Occasion } from '../checkpoint/summary.ts';
import { readTip, type Tip } from '../checkpoint/tip.ts';
import { emptyState } from '../state/lists.ts';
import type { WriterId } from '../types.ts';
import { cleanSecretText } from './clean.ts';
import { describeCode } from './describe-code.ts';
import type { KeptTree } from './keep-tree.ts';
import type { Pending } from './pending.ts';
import type { SessionPorts, Target } from './pump-types.ts';
import { cleanUp } from './upkeep.ts';

/** What a checkpoint is to hold: what is recorded and not saved yet, and why it is made. */
export type Content = {
  readonly pending: Pending;
  readonly why: Omit<Occasion, 'sessionId'>;
  readonly runFiles: readonly RunFile[];
  readonly durable: Promise<void>;
};

/** Makes a checkpoint of what `collect` finds on the newest one, as often as others are faster; null where it finds nothing. */
export async function saveDraft(
  ports: SessionPorts,
  { epic, session, settings }: Target,
  kept: KeptTree,
  writer: WriterId,
  collect: (tip: Tip) => Promise<Content | null>,
): Promise<Stored | null> {
  const { commit, branch } = await ports.git.readHead();
  const head = { commit, branch: branch && (await ports.redact(branch)) };
  const { state } = await readTip(ports, epic).catch(() => ({ state: emptyState }));
  const code = await describeCode(ports, { epic, session, settings }, state, kept, head);
  let journals: Pending['journals'] = [];
  const stored = await save(ports, epic, async (tip): Promise<Draft | null> => {
    const content = await collect(tip);
    if (content === null) return null;
    const { pending, why, runFiles, durable } = content;
    checkRunFiles(runFiles);
    journals = pending.journals;
    return {
      sessionId: session,
      writer,
      trigger: why.trigger,
      isRoutine: why.isRoutine,
      reason: why.reason === null ? null : await cleanSecretText(why.reason, ports.redact),
      events: pending.events,
      journals: pending.sessions,
      runFiles,
      durable,
      at: ports.clock.now(),
      keep: settings.keep,
      head,
      code,
      ...kept,
    };
  });
  const last = stored.at(-1);
  if (last) await cleanUp(ports, last, journals);
  return last ?? null;
}
