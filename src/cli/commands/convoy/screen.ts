import { type EpicId, type Orch, type Plan, type RunEvent, readConvoy, showConvoy } from '../../../index.ts';
import { sleepUnlessAborted } from '../../../system/clock.ts';
import { writeTo } from '../../output.ts';
import type { Context } from '../../run-command.ts';
import { openTextBlock, type TextBlock } from '../../session/live-line.ts';
import { formatConvoy, formatLive, formatTasks } from '../../views/convoy-view.ts';
import { showPlace, showRunEvent } from '../plans/run-progress.ts';

/** Shows a convoy while it runs: a line for what has happened and, on a terminal, a block that says how it is now. */
export type ConvoyScreen = {
  readonly isLive: boolean;
  onEvent(event: RunEvent): void;
  inform(text: string): void;
  /** Begins to show how the convoy is. */
  follow(epic: EpicId): void;
  close(): void;
};

/** How often the block is drawn again. */
const drawEvery = 1_000;

export function openConvoyScreen(context: Context, orch: Orch, plan: Plan): ConvoyScreen {
  const { out, json } = context;
  const block = openBlock(context);
  const over = new AbortController();
  const inform = (text: string) => {
    block?.clear();
    if (!json) out.inform(text);
  };
  const draw = async (epic: EpicId) => {
    while (block !== null && !over.signal.aborted) {
      const lines = await describeNow(context, orch, epic);
      if (!over.signal.aborted) block.show(lines);
      await sleepUnlessAborted(drawEvery, over.signal);
    }
  };
  return {
    isLive: block !== null,
    inform,
    onEvent: (event) => {
      if (event.kind === 'begun' && block === null) {
        const again = event.attempt > 1 ? `  attempt ${event.attempt}` : '';
        const how = event.continues ? 'continues' : 'begins';
        inform(`${showPlace(plan, event.task, out.paint('cyan', '●'))}  ${how}${again}`);
      }
      for (const text of showRunEvent(out, plan, event, orch.clock.now())) inform(text);
    },
    follow: (epic) => {
      // What cannot be read now is drawn a second later; the convoy continues.
      draw(epic).catch((error: unknown) => inform(`orch: ${error instanceof Error ? error.message : error}`));
    },
    close: () => {
      over.abort();
      block?.clear();
    },
  };
}

function openBlock({ out, json }: Context): TextBlock | null {
  const isLive = !json && !out.isQuiet && process.stderr.isTTY === true;
  return isLive ? openTextBlock((text) => writeTo(2, text)) : null;
}

/** Lines above the block stay visible. */
const mostRows = 30;

async function describeNow({ out }: Context, orch: Orch, epic: EpicId): Promise<string[]> {
  const known = await readConvoy(orch, epic);
  if (known === null) return [];
  const rows = Math.min(mostRows, (process.stderr.rows || 24) - 4);
  return formatLive(out, await showConvoy(orch, known), orch.clock.now(), rows);
}

/** Shows a convoy until it has ended, or the signal comes. */
export async function followConvoy(
  context: Context,
  orch: Orch,
  epic: EpicId,
  signal: AbortSignal,
): Promise<void> {
  const { out } = context;
  const block = openBlock(context);
  const seen = new Map<string, string>();
  for (;;) {
    const known = await readConvoy(orch, epic);
    if (known === null) return;
    const convoy = await showConvoy(orch, known);
    const now = orch.clock.now();
    const isOver = !known.isActive && convoy.workers === 0;
    if (isOver || signal.aborted) {
      block?.clear();
      if (isOver) for (const line of formatConvoy(out, convoy, now)) out.print(line);
      return;
    }
    if (block !== null)
      block.show(formatLive(out, convoy, now, Math.min(mostRows, (process.stderr.rows || 24) - 2)));
    else
      for (const task of convoy.tasks) {
        const state = `${task.status} ${task.attempts}`;
        if (seen.get(task.id) !== state && task.status !== 'waiting' && task.status !== 'ready')
          for (const line of formatTasks(out, [task], epic, now)) out.print(line);
        seen.set(task.id, state);
      }
    await sleepUnlessAborted(drawEvery, signal);
  }
}
