import type { ContextReading } from '../../cost/context-window.ts';
import { addTokens, sumTokens, type Tokens } from '../../cost/tokens.ts';
import { type Keyed, lookUp, mergeKeyed } from '../../keyed.ts';
import type { Millis } from '../../types.ts';
import {
  countMessages,
  type KeptMessages,
  noMessages,
  noTally,
  type Tallies,
  type Tally,
} from './messages.ts';
import { addAccounts, mergeAccounts, type OwnAccounts } from './meters.ts';
import {
  mergeThread,
  startThread,
  sumThreads,
  type ThreadReading,
  type Threads,
  updateThread,
} from './threads.ts';
import { type FileMark, type FileProblem, readNewLines } from './transcript-files.ts';
import { mayContainUsage, readUsageLine, type UsageLine } from './usage.ts';

export { endsWithAnswer, endsWithWord, findTranscripts } from './transcript-files.ts';

/** What is known from a session's transcripts, and how far they were read. Only a cache: it can be rebuilt. */
export type TranscriptState = {
  readonly files: Keyed<
    FileMark & {
      readonly thread: ThreadReading;
      readonly context: ContextReading | null;
      /** By model: what the agent itself used after its last account in this file. */
      readonly since: Keyed<Tokens>;
    }
  >;
  readonly messages: KeptMessages;
  readonly threads: Threads;
  /** What messages from before the conversation started add up to: a fork repeats its parent's. */
  readonly repeated: Tallies;
  /** The agents' own accounts, by their session. */
  readonly accounts: Keyed<OwnAccounts>;
};

export const unread: TranscriptState = {
  files: {},
  messages: noMessages,
  threads: {},
  repeated: {},
  accounts: {},
};

/** What was used so far according to the transcripts. */
export type TranscriptReading = {
  /** Counted message by message, by model. */
  readonly counted: Tallies;
  /** The agents' own accounts, by model. */
  readonly accounts: OwnAccounts;
  /** What no account covers yet, by model; without subagents, whose usage may be covered already. */
  readonly since: Keyed<Tokens>;
};

/** A file that changed in an unexpected way. What was counted from it stays counted. */
type FileNotice = { readonly path: string; readonly problem: FileProblem };

export type TranscriptUpdate = {
  readonly state: TranscriptState;
  readonly reading: TranscriptReading;
  readonly notices: readonly FileNotice[];
};

/**
 * Reads what was added to transcripts since they were last read, and returns everything used so far.
 * The result does not depend on how the reading is split: each message counts once, whichever files it is in, and a
 * file that is replaced, truncated or gone takes nothing away.
 * `window`: how many messages of a file may still grow. `begins`: when a file's conversation started, if known.
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
    let thread = before?.thread ?? startThread(path);
    let context = before?.context ?? null;
    let since = before?.since ?? {};
    const take = (line: UsageLine): void => {
      context = updateContext(context, line, thread.model);
      if (line.kind === 'message') {
        const added = messages.add(path, line);
        if (line.at !== undefined && line.at < (lookUp(begins, path) ?? 0))
          repeated = mergeKeyed(repeated, { [line.model]: tallyOf(added) }, addTallies);
        if (!line.isSubagent && sumTokens(added) > 0)
          since = mergeKeyed(since, { [line.model]: added }, addTokens);
      } else if (line.kind === 'account') {
        accounts = addAccount(accounts, line, path);
        since = {};
      } else {
        if (line.kind === 'thread') threads = mergeThread(threads, thread);
        thread = updateThread(thread, line);
      }
    };
    const restart = () => {
      thread = startThread(path);
      context = null;
    };
    const { mark, problem } = readNewLines(path, before, restart, (bytes) => {
      const line = mayContainUsage(bytes) ? readUsageLine(bytes.toString('utf8').trim()) : null;
      if (line !== null) take(line);
    });
    threads = mergeThread(threads, thread);
    if (problem !== null) notices.push({ path, problem });
    if (problem === 'gone') messages.close(path);
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

/** Updates what is in the context window with one more line. */
function updateContext(
  context: ContextReading | null,
  line: UsageLine,
  threadModel: string,
): ContextReading | null {
  switch (line.kind) {
    case 'message': {
      const { input, cacheRead, cacheWrite5m, cacheWrite1h } = line.tokens;
      const tokens = input + cacheRead + cacheWrite5m + cacheWrite1h;
      return line.isSubagent || tokens === 0 ? context : { tokens, model: line.model, window: null };
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
  const added: OwnAccounts = Object.fromEntries(figures.map(({ model, ...account }) => [model, account]));
  return mergeKeyed(accounts, { [session ?? path]: added }, (a, b) => mergeKeyed(a, b, mergeAccounts));
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
  const reported = Object.values(accounts).reduce<OwnAccounts>(
    (sum, models) => mergeKeyed(sum, models, addAccounts),
    {},
  );
  const since = Object.values(files).reduce<Keyed<Tokens>>(
    (sum, file) => mergeKeyed(sum, file.since, addTokens),
    {},
  );
  return { counted, accounts: reported, since };
}
