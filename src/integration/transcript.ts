import type { ContextReading } from '../cost/context.ts';
import {
  countMessages,
  type KeptMessages,
  noMessages,
  noTally,
  type Tallies,
  type Tally,
} from '../cost/messages.ts';
import { addAccounts, mergeAccounts, type OwnAccounts } from '../cost/meters.ts';
import {
  beginThread,
  followThread,
  keepThread,
  sumThreads,
  type ThreadReading,
  type Threads,
} from '../cost/threads.ts';
import { addTokens, sumTokens, type Tokens } from '../cost/tokens.ts';
import { mayTellUsage, readUsageLine, type UsageLine } from '../cost/usage.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { Millis } from '../types.ts';
import { type Fate, type FileMark, readNewLines } from './transcript-files.ts';

export { endsWithAnswer, endsWithWord, findTranscripts } from './transcript-files.ts';

/** All that is known of the transcripts of a session, and how far they were read. Only a cache: it can be made again. */
export type TranscriptState = {
  readonly files: Keyed<
    FileMark & {
      readonly thread: ThreadReading;
      readonly context: ContextReading | null;
      /** By model: what was counted of the agent itself behind the last account it gave in this file. */
      readonly since: Keyed<Tokens>;
    }
  >;
  readonly messages: KeptMessages;
  readonly threads: Threads;
  /** What of the messages was given before the conversation that a file is of began: a fork repeats its parent's. */
  readonly repeated: Tallies;
  /** By the agent's session: what it says of itself. */
  readonly accounts: Keyed<OwnAccounts>;
};

export const unread: TranscriptState = {
  files: {},
  messages: noMessages,
  threads: {},
  repeated: {},
  accounts: {},
};

/** What the transcripts say was used up so far. */
export type TranscriptReading = {
  /** Counted message by message, by model. */
  readonly counted: Tallies;
  /** What the agents say themselves, by model. */
  readonly accounts: OwnAccounts;
  /** What was counted and is in no account yet, by model; that of helpers may be in one, and is not here. */
  readonly since: Keyed<Tokens>;
};

/** A file that was not as it was left. What was counted of it stays counted. */
export type FileNotice = { readonly path: string; readonly fate: Fate };

export type TranscriptUpdate = {
  readonly state: TranscriptState;
  readonly reading: TranscriptReading;
  readonly notices: readonly FileNotice[];
};

/**
 * Reads what was added to transcripts since they were last read, and gives all that was used up so far.
 * It is the same however the reading is cut into pieces: each message counts once, whichever files it is in,
 * and a file that is replaced, cut or gone takes nothing away.
 * Files that are not given are left as they are. `window`: how many messages of a file may still grow. `begins`: when
 * the conversation of a file began, where that is known.
 */
export function readTranscript(
  state: TranscriptState,
  paths: readonly string[],
  window?: number,
  begins: Keyed<Millis> = {},
): TranscriptUpdate {
  const messages = countMessages(state.messages, window);
  let { files, threads, repeated, accounts } = state;
  const notices: FileNotice[] = [];
  for (const path of new Set(paths)) {
    const before = lookUp(files, path) ?? null;
    let thread = before?.thread ?? beginThread(path);
    let context = before?.context ?? null;
    let since = before?.since ?? {};
    const take = (line: UsageLine): void => {
      context = followContext(context, line, thread.model);
      if (line.kind === 'message') {
        const added = messages.add(path, line);
        if (line.at !== undefined && line.at < (lookUp(begins, path) ?? 0))
          repeated = mergeKeyed(repeated, { [line.model]: tallyOf(added) }, addTallies);
        if (!line.isAside && sumTokens(added) > 0)
          since = mergeKeyed(since, { [line.model]: added }, addTokens);
      } else if (line.kind === 'account') {
        accounts = addAccount(accounts, line, path);
        since = {};
      } else {
        if (line.kind === 'thread') threads = keepThread(threads, thread);
        thread = followThread(thread, line);
      }
    };
    const restart = () => {
      thread = beginThread(path);
      context = null;
    };
    const { mark, fate } = readNewLines(path, before, restart, (bytes) => {
      const line = mayTellUsage(bytes) ? readUsageLine(bytes.toString('utf8').trim()) : null;
      if (line !== null) take(line);
    });
    threads = keepThread(threads, thread);
    if (fate !== null) notices.push({ path, fate });
    if (fate === 'gone') messages.close(path);
    const { [path]: _, ...others } = files;
    files = mark === null ? others : { ...others, [path]: { ...mark, thread, context, since } };
  }
  const next = { files, messages: messages.keep(), threads, repeated, accounts };
  return { state: next, reading: makeReading(messages.read(), next), notices };
}

function tallyOf(tokens: Tokens): Tally {
  return { tokens, nanos: 0, bare: sumTokens(tokens) };
}

function addTallies(a: Tally, b: Tally): Tally {
  return { tokens: addTokens(a.tokens, b.tokens), nanos: a.nanos + b.nanos, bare: a.bare + b.bare };
}

/** What is in the window of whoever writes the file, after one more line of it. */
function followContext(
  context: ContextReading | null,
  line: UsageLine,
  threadModel: string,
): ContextReading | null {
  switch (line.kind) {
    case 'message': {
      const { input, cacheRead, cacheWrite5m, cacheWrite1h } = line.tokens;
      const tokens = input + cacheRead + cacheWrite5m + cacheWrite1h;
      return line.isAside || tokens === 0 ? context : { tokens, model: line.model, window: null };
    }
    case 'total':
      return line.context ? { ...line.context, model: threadModel } : context;
    case 'compacted':
      return line.left === null ? null : { tokens: line.left, model: context?.model ?? null, window: null };
    default:
      return context;
  }
}

function addAccount(
  accounts: Keyed<OwnAccounts>,
  { session, figures }: UsageLine & { kind: 'account' },
  path: string,
): Keyed<OwnAccounts> {
  const told: OwnAccounts = Object.fromEntries(figures.map(({ model, ...account }) => [model, account]));
  return mergeKeyed(accounts, { [session ?? path]: told }, (a, b) => mergeKeyed(a, b, mergeAccounts));
}

function makeReading(
  tallies: Tallies,
  { files, threads, accounts }: Pick<TranscriptState, 'files' | 'threads' | 'accounts'>,
): TranscriptReading {
  let counted = tallies;
  for (const [model, tokens] of Object.entries(sumThreads(threads))) {
    const tally = lookUp(counted, model) ?? noTally;
    const bare = tally.bare + sumTokens(tokens);
    counted = { ...counted, [model]: { ...tally, tokens: addTokens(tally.tokens, tokens), bare } };
  }
  const told = Object.values(accounts).reduce<OwnAccounts>(
    (sum, models) => mergeKeyed(sum, models, addAccounts),
    {},
  );
  const since = Object.values(files).reduce<Keyed<Tokens>>(
    (sum, file) => mergeKeyed(sum, file.since, addTokens),
    {},
  );
  return { counted, accounts: told, since };
}
