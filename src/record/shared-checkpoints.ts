import { sleep } from '../system/clock.ts';
import type { Millis } from '../types.ts';
import type { RunningSession, SessionPorts } from './ports.ts';
import { record } from './record.ts';

/** Checkpoints made beside the work: whatever is recorded while one is being made shares the next. */
export type SharedCheckpoints = {
  /** Asks for a checkpoint of what is recorded by now; resolves once it is made, if the policy calls for it. */
  ask(): Promise<void>;
  /** Waits for all that were asked for; throws if one failed with an error that the next call would not repair. */
  settle(): Promise<void>;
};

/** The rest after a checkpoint, at most: what is recorded meanwhile shares the next one. */
const longestRest: Millis = 100;
/** It is this many times as long as the checkpoint itself: tasks of milliseconds spend a third of the time on them. */
const restFactor = 2;

export function openSharedCheckpoints(ports: SessionPorts, target: RunningSession): SharedCheckpoints {
  const { clock } = ports;
  const failures: unknown[] = [];
  let made = Promise.resolve();
  let rested = Promise.resolve();
  let next: Promise<void> | null = null;

  async function make(): Promise<void> {
    next = null; // what is recorded from here on may come too late for this one
    const began = clock.elapsed();
    await record(ports, target, []);
    // With the files saved, tasks wait for their checkpoint, so it must not wait.
    if (target.settings.snapshot) return;
    rested = sleep(Math.min(restFactor * (clock.elapsed() - began), longestRest));
  }

  return {
    ask: () => {
      if (next !== null) return next;
      next = made.then(() => rested).then(make);
      made = next.catch((error) => {
        failures.push(error);
      });
      return next;
    },
    settle: async () => {
      await made;
      if (failures.length > 0) throw failures[0];
    },
  };
}
