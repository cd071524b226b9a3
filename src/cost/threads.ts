import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import { addTokens, combineTokens, noTokens, subtractTokens, sumTokens, type Tokens } from './tokens.ts';
import type { UsageLine } from './usage.ts';

/** How far the account of a thread was followed in a file: the file only tells totals, and which model is at work. */
export type ThreadReading = {
  readonly thread: string;
  readonly isNamed: boolean;
  readonly model: string;
  /** The total that was told last. */
  readonly last: Tokens;
  /** By model. */
  readonly used: Keyed<Tokens>;
};

/** Thread → model → what it has used. */
export type Threads = Keyed<Keyed<Tokens>>;

/** Where no model is named. The user can set a price for it. */
export const unnamedModel = 'codex';

/** A file's account before its first line; `name` stands for the thread until it is named. */
export function beginThread(name: string): ThreadReading {
  return { thread: name, isNamed: false, model: unnamedModel, last: noTokens, used: {} };
}

/** Follows the account of a file by one line. */
export function followThread(reading: ThreadReading, line: UsageLine): ThreadReading {
  switch (line.kind) {
    case 'thread':
      if (line.thread === reading.thread || (reading.isNamed && line.isWholeFile)) return reading;
      return { ...beginThread(line.thread), isNamed: true };
    case 'model':
      return { ...reading, model: line.model };
    case 'total': {
      const { model, last, used } = reading;
      // It counts anew once a thread has overrun its window.
      const isAnew = sumTokens(line.tokens) < sumTokens(last);
      const more = isAnew ? line.tokens : subtractTokens(line.tokens, last);
      const sum = addTokens(lookUp(used, model) ?? noTokens, more);
      return { ...reading, last: line.tokens, used: { ...used, [model]: sum } };
    }
    default:
      return reading;
  }
}

/** Takes a file's account into what is known of the threads. The larger counts, so reading again changes nothing. */
export function keepThread(threads: Threads, { thread, used }: ThreadReading): Threads {
  if (Object.keys(used).length === 0) return threads;
  const merge = (a: Keyed<Tokens>, b: Keyed<Tokens>) =>
    mergeKeyed(a, b, (x, y) => combineTokens(x, y, Math.max));
  return mergeKeyed(threads, { [thread]: used }, merge);
}

/** What the models of all threads have used. */
export function sumThreads(threads: Threads): Keyed<Tokens> {
  return Object.values(threads).reduce<Keyed<Tokens>>(
    (sums, used) => mergeKeyed(sums, nameAll(used), addTokens),
    {},
  );
}

/** A thread's events and its rollout file tell of the same tokens, and only the latter says whose they are. */
function nameAll({ [unnamedModel]: unnamed = noTokens, ...named }: Keyed<Tokens>): Keyed<Tokens> {
  const known = Object.values(named).reduce(addTokens, noTokens);
  const rest = subtractTokens(unnamed, known);
  return sumTokens(rest) > 0 ? { ...named, [unnamedModel]: rest } : named;
}
