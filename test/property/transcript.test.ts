import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeMeters, reconcileMeters } from '../../src/agents/transcript/meters.ts';
import { readTranscript, type TranscriptReading, unread } from '../../src/agents/transcript/transcript.ts';
import { loadCached, storeCached } from '../../src/agents/transcript/transcript-cache.ts';
import { addTokens, noTokens, type Tokens } from '../../src/cost/tokens.ts';
import { realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import {
  foreignLines,
  formatAccount,
  formatMessage,
  pricedModels,
  someTokens,
} from '../support/transcripts.ts';

/** Small, so that most messages settle. */
const window = 5;
/** So many lines of other conversations come while a message is written: with two of its own, fewer than the window. */
const mostCopiesBetween = 2;

type Step =
  /** A message begins, and is written a few times while it grows. */
  | {
      readonly kind: 'message';
      readonly file: number;
      readonly model: number;
      readonly growth: readonly Tokens[];
    }
  /** A message from before is written again as it was, as forks and resumed sessions do. */
  | { readonly kind: 'copy'; readonly file: number; readonly of: number }
  | { readonly kind: 'foreign'; readonly file: number; readonly line: number }
  | { readonly kind: 'account'; readonly file: number; readonly tokens: Tokens };

const file = fc.nat({ max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      file,
      model: fc.nat({ max: 2 }),
      growth: fc.array(someTokens, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('copy' as const), file, of: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('foreign' as const), file, line: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('account' as const), file, tokens: someTokens }) },
);

type Expected = { [model: string]: Tokens };

/** What the steps write, file by file, and what should be counted: worked out without any of the code. */
function writeDown(steps: readonly Step[]): { texts: Buffer[]; expected: Expected } {
  const lines: string[][] = [[], [], []];
  /** What is still to be written of the last message of each file: the next one begins before that. */
  const late: string[][] = [[], [], []];
  const copiesSince = [0, 0, 0];
  const messages: { model: string; tokens: Tokens; line: string }[] = [];
  for (const [index, one] of steps.entries()) {
    const target = lines[one.file] ?? [];
    if (one.kind === 'message') {
      const model = pricedModels[one.model] ?? 'other';
      let tokens = noTokens;
      const written = one.growth.map((more) => {
        // Only the output grows while a message is written.
        tokens = tokens === noTokens ? more : { ...tokens, output: tokens.output + more.output };
        return formatMessage({ id: `msg_${index}`, model, tokens });
      });
      const [first = '', ...rest] = written;
      target.push(first, ...(late[one.file] ?? []));
      late[one.file] = rest;
      copiesSince[one.file] = 0;
      messages.push({ model, tokens, line: written.at(-1) ?? '' });
    } else if (one.kind === 'copy') {
      const original = messages[one.of % Math.max(1, messages.length)];
      const copies = (copiesSince[one.file] ?? 0) + 1;
      copiesSince[one.file] = copies;
      if (copies > mostCopiesBetween) target.push(...(late[one.file]?.splice(0) ?? []));
      if (original) target.push(original.line);
    } else if (one.kind === 'foreign') target.push(foreignLines[one.line % foreignLines.length] ?? '');
    else target.push(formatAccount({ 'claude-opus-5': { tokens: one.tokens, costUSD: 0.5 } }));
  }
  for (const [index, rest] of late.entries()) lines[index]?.push(...rest);
  const expected: Expected = {};
  for (const { model, tokens } of messages) expected[model] = addTokens(expected[model] ?? noTokens, tokens);
  return { texts: lines.map((all) => Buffer.from(all.map((line) => `${line}\n`).join(''))), expected };
}

/** Which file goes on by how many bytes, and whether somebody reads then. */
const turn = fc.record({
  file,
  bytes: fc.nat({ max: 900 }),
  reads: fc.boolean(),
  forgets: fc.nat({ max: 9 }),
});

function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'orch-test-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const tokensOf = ({ counted }: TranscriptReading): Expected =>
  Object.fromEntries(Object.entries(counted).map(([model, { tokens }]) => [model, tokens]));

const moneyOf = ({ counted, accounts }: TranscriptReading): number =>
  Object.values(reconcileMeters(makeMeters(counted, {}), accounts, {})).reduce(
    (sum, { micros }) => sum + micros,
    0,
  );

describe('any interleaving of appends and reads', () => {
  const steps = fc.array(step, { maxLength: 60 });
  const turns = fc.array(turn, { maxLength: 30 });

  it('counts every message once, as reading it all at the end does, and never goes back', () => {
    fc.assert(
      fc.property(steps, turns, (all, order) =>
        inFolder((folder) => {
          const { texts, expected } = writeDown(all);
          const paths = texts.map((_, index) => join(folder, `${index}.jsonl`));
          const written = texts.map(() => 0);
          let state = unread;
          let money = 0;
          const read = () => {
            const update = readTranscript(state, paths, window);
            state = update.state;
            const now = moneyOf(update.reading);
            expect(now).toBeGreaterThanOrEqual(money);
            money = now;
            expect(update.notices).toEqual([]);
            return update.reading;
          };
          const append = (index: number, bytes: number) => {
            const from = written[index] ?? 0;
            const part = texts[index]?.subarray(from, from + bytes) ?? Buffer.alloc(0);
            appendFileSync(paths[index] ?? '', part);
            written[index] = from + part.length;
          };
          for (const { file: index, bytes, reads, forgets } of order) {
            append(index, bytes);
            if (forgets === 0) state = unread; // the cache was deleted
            if (reads) read();
          }
          for (const index of texts.keys()) append(index, Number.POSITIVE_INFINITY);
          const inPieces = read();
          const atOnce = readTranscript(unread, paths.toReversed(), window).reading;
          expect(tokensOf(inPieces)).toEqual(expected);
          expect(tokensOf(atOnce)).toEqual(expected);
          expect(inPieces.accounts).toEqual(atOnce.accounts);
          expect(read()).toEqual(inPieces);
        }),
      ),
      { numRuns: 2_000 },
    );
  }, 180_000);

  it('is the same through the cache on disk, which stays small', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 300, max: 3_000 }), async (all, size) => {
        const folder = mkdtempSync(join(tmpdir(), 'orch-test-'));
        try {
          const { texts, expected } = writeDown(all);
          const [text = Buffer.alloc(0)] = [Buffer.concat(texts)];
          const path = join(folder, 'all.jsonl');
          const cache = join(folder, 'cache');
          let tokens: Expected = {};
          for (let at = 0; at < text.length; at += size) {
            appendFileSync(path, text.subarray(at, at + size));
            const loaded = loadCached(cache);
            const { state, reading } = readTranscript(loaded?.state ?? unread, [path], window);
            await storeCached({ disk: realDisk, random: realRandom }, cache, { state, lost: {} });
            expect(loadCached(cache)?.state).toEqual(state);
            for (const recent of Object.values(state.messages.recent))
              expect(recent.length).toBeLessThanOrEqual(2 * window);
            tokens = tokensOf(reading);
          }
          expect(tokens).toEqual(expected);
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: 200 },
    );
  }, 120_000);
});
