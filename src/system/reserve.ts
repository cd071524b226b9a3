import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { limitReached } from '../errors.ts';

/** What looking after a command takes at a time: two gits with their pipes, the files of a checkpoint, a watch. */
const neededToWork = 32;
/** What is kept back to stop the command and to say how it ended. */
const neededToStop = 16;

/** Open files that are kept back for the moment in which no other can be opened. */
export type Reserve = { release(): void };

/** Keeps descriptors back, and refuses where there are too few to look after a command at all. */
export function reserveDescriptors(): Reserve {
  const held: number[] = [];
  const close = (count: number) => {
    for (const fd of held.splice(0, count)) closeSync(fd);
  };
  try {
    while (held.length < neededToWork + neededToStop) held.push(openSync(devNull, 'r'));
  } catch (error) {
    close(held.length);
    throw limitReached('orch cannot look after a command', error) ?? error;
  }
  // The first ones: what the work opens next gets their low numbers, also under a limit that is lowered meanwhile.
  close(neededToWork);
  return { release: () => close(held.length) };
}
