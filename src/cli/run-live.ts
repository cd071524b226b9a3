import type { RunEvent } from '../plan/progress.ts';
import type { Plan, Task } from '../plan/types.ts';
import type { Clock } from '../system/clock.ts';
import { cutColumns } from '../text.ts';
import { openTextLine } from './live-line.ts';
import { writeTo } from './output.ts';
import type { Context } from './run.ts';
import { showRunEvent, showRunning } from './run-view.ts';

/** Shows a run while it goes on. */
export type RunShow = { onEvent(event: RunEvent): void; tell(text: string): void; close(): void };

/** A line a task when it ended; on a terminal also a last line with what runs now, counted up every second. */
export function openRunShow({ out, json }: Context, plan: Plan, clock: Clock): RunShow {
  const isLive = !json && !out.isQuiet && process.stderr.isTTY === true;
  const columns = () => process.stderr.columns || 80;
  const line = isLive ? openTextLine((text) => writeTo(2, text), columns) : null;
  const running = new Map<Task, { since: number; attempt: number }>();
  const draw = () => {
    if (running.size === 0) line?.clear();
    else line?.show(cutColumns(showRunning(plan, running, clock.elapsed()), columns() - 1));
  };
  const timer = line && setInterval(draw, 1_000);
  const tell = (text: string) => {
    line?.clear();
    if (!json) out.tell(text);
  };
  return {
    tell,
    onEvent: (event) => {
      if (event.kind === 'begun')
        running.set(event.task, {
          since: running.get(event.task)?.since ?? clock.elapsed(),
          attempt: event.attempt,
        });
      if (event.kind === 'ended' || event.kind === 'held') running.delete(event.task);
      for (const text of showRunEvent(out, plan, event, clock.now())) tell(text);
      draw();
    },
    close: () => {
      if (timer) clearInterval(timer);
      line?.clear();
    },
  };
}
