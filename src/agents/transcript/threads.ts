import {
  addTokens,
  combineTokens,
  noTokens,
  subtractTokens,
  sumTokens,
  type Tokens,
} from '../../cost/tokens.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { UsageLine } from './usage.ts';

/** How far a thread's account was read in a file, which only has totals and names the current model. */
export type ThreadReading = {
  readonly thread: string;
  readonly isNamed: boolean;
  readonly model: string;
  /** The last total. */
  readonly last: Tokens;
  /** By model. */
  readonly used: Keyed<Tokens>;
};

/** Thread → model → what it has used. */
export type Threads = Keyed<Keyed<Tokens>>;

/** Stands for a model that is not named. The user can set a price for it. */
const unnamedModel = 'codex';

/** A file's account before its first line; `name` stands in for the thread's id until it is known. */
export function startThread(name: string): ThreadReading {
  return { thread: name, isNamed: false, model: unnamedModel, last: noTokens, used: {} };
}

/** Updates a file's account with one more line. */
export function updateThread(reading: ThreadReading, line: UsageLine): ThreadReading {
  switch (line.kind) {
    case 'thread':
      if (line.thread === reading.thread || (reading.isNamed && line.isWholeFile)) return reading;
      return { ...startThread(line.thread), isNamed: true };
    case 'model':
      return { ...reading, model: line.model };
    case 'total': {
      const { model, last, used } = reading;
      // Codex restarts the total once a thread has overrun its window.
      const isRestarted = sumTokens(line.tokens) < sumTokens(last);
      const more = isRestarted ? line.tokens : subtractTokens(line.tokens, last);
      const sum = addTokens(lookUp(used, model) ?? noTokens, more);
      return { ...reading, last: line.tokens, used: { ...used, [model]: sum } };
    }
    default:
      return reading;
  }
}

/** Merges a file's account into the known threads. The larger counts, so reading again changes nothing. */
export function mergeThread(threads: Threads, { thread, used }: ThreadReading): Threads {
  if (Object.keys(used).length === 0) return threads;
  const merge = (a: Keyed<Tokens>, b: Keyed<Tokens>) =>
    mergeKeyed(a, b, (x, y) => combineTokens(x, y, Math.max));
  return mergeKeyed(threads, { [thread]: used }, merge);
}

/** Sums up what each model used in all threads. */
export function sumThreads(threads: Threads): Keyed<Tokens> {
  return Object.values(threads).reduce<Keyed<Tokens>>(
    (sums, used) => mergeKeyed(sums, nameAll(used), addTokens),
    {},
  );
}

/** A thread's events and its rollout file report the same tokens, but only the file names the model. */
function nameAll({ [unnamedModel]: unnamed = noTokens, ...named }: Keyed<Tokens>): Keyed<Tokens> {
  const known = Object.values(named).reduce(addTokens, noTokens);
  const rest = subtractTokens(unnamed, known);
  return sumTokens(rest) > 0 ? { ...named, [unnamedModel]: rest } : named;
}
