import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Meters } from '../../src/agents/transcript/meters.ts';
import { meterTranscripts } from '../../src/agents/transcript/transcript-meter.ts';
import { noUsage } from '../../src/cost/ledger.ts';
import { noTokens } from '../../src/cost/tokens.ts';
import { findFactProblem } from '../../src/state/fact-shape.ts';
import { realRandom } from '../../src/system/clock.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeFolder } from '../support/repository.ts';
import { formatAccount, formatMessage } from '../support/transcripts.ts';

const model = 'claude-haiku-4-5';
/** At five dollars per million: five micro-dollars each. */
const write = (id: string, output: number) =>
  `${formatMessage({ id, model, tokens: { ...noTokens, output } })}\n`;
const account = (output: number) =>
  `${formatAccount({ [model]: { tokens: { ...noTokens, output }, costUSD: output * 5e-6 } })}\n`;

/** A session with a ledger in which, as in the real one, the larger reading counts. */
function makeSession(disk: Disk = realDisk) {
  const folder = makeFolder();
  const path = join(folder, 'session.jsonl');
  const place = join(folder, 'cache');
  const cache = join(place, 'transcripts');
  let recorded: Meters = {};
  return {
    path,
    folder: place,
    forget: () => rmSync(place, { recursive: true }),
    read: async (before: Meters = {}, paths = [path]) => {
      const request = { cache, paths, prices: {}, recorded, before, isFollowed: true };
      const result = await meterTranscripts({ disk, random: realRandom }, request);
      for (const fact of result.facts) {
        expect(findFactProblem(fact)).toBeNull();
        const known = recorded[fact.model]?.micros ?? 0;
        if (fact.usage.micros > known) recorded = { ...recorded, [fact.model]: fact.usage };
      }
      return { ...result, spent: Object.values(recorded).reduce((sum, { micros }) => sum + micros, 0) };
    },
  };
}

describe('a session’s meters', () => {
  it('are readings that grow with the transcript', async () => {
    const { path, read } = makeSession();
    expect((await read()).facts).toEqual([]);
    writeFileSync(path, write('a', 10));
    expect((await read()).facts).toEqual([
      { kind: 'meter', model, usage: { ...noUsage, micros: 50, output: 10 } },
    ]);
    appendFileSync(path, write('a', 12) + write('b', 1));
    expect((await read()).spent).toBe(65);
    expect((await read()).spent).toBe(65);
  });

  it('bill nothing twice when the cache is deleted, damaged, or another version’s', async () => {
    const { path, folder, read } = makeSession();
    writeFileSync(path, write('a', 10) + write('b', 10));
    expect((await read()).spent).toBe(100);
    const each = (damage: (file: string, kept: Buffer) => void) => () => {
      for (const name of readdirSync(folder)) damage(join(folder, name), readFileSync(join(folder, name)));
    };
    const spoil = [
      each((file) => rmSync(file)),
      each((file) => writeFileSync(file, '')),
      each((file, kept) => writeFileSync(file, kept.subarray(0, kept.length / 2))),
      each((file, kept) => writeFileSync(file, Buffer.concat([kept, Buffer.from('x')]))),
      each((file, kept) => writeFileSync(file, kept.toString('latin1').replace('claude', 'cloude'))),
    ];
    let expected = 100;
    for (const [index, damage] of spoil.entries()) {
      damage();
      expect((await read()).spent).toBe(expected);
      appendFileSync(path, write(`more-${index}`, 2));
      expected += 10;
      expect((await read()).spent).toBe(expected);
    }
  });

  it('are right over thousands of messages, and however the cache is lost', async () => {
    const { path, folder, read } = makeSession();
    const many = (from: number) =>
      Array.from({ length: 3_000 }, (_, index) => write(`m${from + index}`, 1)).join('');
    writeFileSync(path, many(0));
    expect((await read()).spent).toBe(15_000);
    appendFileSync(path, many(3_000));
    expect((await read()).spent).toBe(30_000);
    appendFileSync(path, many(0) + many(6_000));
    expect((await read()).spent).toBe(45_000);
    const cache = join(folder, 'transcripts');
    expect(readdirSync(folder)).toEqual(['transcripts']);
    const lose = [
      () => rmSync(cache),
      () => writeFileSync(cache, ''),
      () => truncateSync(cache, 804),
      () => writeFileSync(cache, readFileSync(cache, 'utf8').replace('"digests":"', '"digests":"AAAA')),
    ];
    for (const damage of lose) {
      damage();
      appendFileSync(path, many(0));
      expect((await read()).spent).toBe(45_000);
    }
  });

  it('are read on from where the last reading ended', async () => {
    const { path, read } = makeSession();
    const before = write('a', 10) + Array.from({ length: 20 }, (_, index) => write(`b${index}`, 1)).join('');
    writeFileSync(path, before);
    expect((await read()).spent).toBe(150);
    // A reading from the start would find the other figure.
    writeFileSync(path, before.replace('"output_tokens":10', '"output_tokens":99') + write('c', 1));
    expect((await read()).spent).toBe(155);
  });

  it('go on from what is recorded when both the cache and the transcript are gone', async () => {
    const { path, forget, read } = makeSession();
    writeFileSync(path, write('a', 10) + write('b', 10));
    expect((await read()).spent).toBe(100);
    forget();
    writeFileSync(path, write('b', 10));
    expect((await read()).spent).toBe(100);
    appendFileSync(path, write('c', 1));
    expect((await read()).spent).toBe(105);
    rmSync(path);
    expect((await read()).spent).toBe(105);
    forget();
    expect((await read()).spent).toBe(105);
    writeFileSync(path, write('d', 2));
    expect((await read()).spent).toBe(115);
  });

  it('leave out what another session was billed for', async () => {
    const first = makeSession();
    writeFileSync(first.path, write('a', 10));
    const { meters } = await first.read();
    const second = makeSession();
    expect((await second.read(meters, [first.path])).facts).toEqual([]);
    appendFileSync(first.path, write('b', 3));
    expect((await second.read(meters, [first.path])).spent).toBe(15);
    second.forget();
    expect((await second.read(meters, [first.path])).spent).toBe(15);
  });

  it('take the agent’s account if it is larger', async () => {
    const { path, read } = makeSession();
    const tokens = { ...noTokens, output: 10 };
    writeFileSync(path, write('a', 10) + formatAccount({ [model]: { tokens, costUSD: 0.00005 } }));
    expect((await read()).spent).toBe(50);
    writeFileSync(path, write('a', 10) + formatAccount({ [model]: { tokens, costUSD: 0.00007 } }));
    expect((await read()).spent).toBe(70);
  });

  it('keep what only the agent knew of, whatever is counted after it told', async () => {
    const { path, folder, read } = makeSession();
    const cleared = join(folder, '..', 'cleared.jsonl');
    // It also summed its conversation up: that is in no line of its own.
    writeFileSync(path, write('a', 10) + write('b', 10) + account(30));
    expect((await read()).spent).toBe(150);
    writeFileSync(cleared, write('c', 10));
    expect((await read({}, [path, cleared])).spent, 'in another file').toBe(200);
    appendFileSync(path, write('a', 10) + write('d', 4));
    expect((await read({}, [path, cleared])).spent, 'in the same file, and nothing twice').toBe(220);
    appendFileSync(path, write('d', 8));
    expect((await read({}, [path, cleared])).spent, 'a message that grew').toBe(240);
    appendFileSync(path, account(38));
    expect((await read({}, [path, cleared])).spent, 'its next account has all of that').toBe(240);
  });

  it('go on from an account in the next session of the same conversation', async () => {
    const first = makeSession();
    writeFileSync(first.path, write('a', 20) + account(30));
    const { meters } = await first.read();
    const second = makeSession();
    appendFileSync(first.path, write('b', 10));
    expect((await second.read(meters, [first.path])).spent).toBe(50);
  });

  it('count what helpers used once, though it is read behind the account that has it', async () => {
    const { path, folder, read } = makeSession();
    const helper = join(folder, '..', 'helper.jsonl');
    writeFileSync(path, write('a', 20) + account(30));
    writeFileSync(helper, write('h', 10).replace('{', '{"isSidechain":true,'));
    expect((await read({}, [path, helper])).spent).toBe(150);
  });

  it('are right on a disk that takes nothing, and leave nothing behind', async () => {
    const full = { ...realDisk, write: () => 0 };
    const { path, folder, read } = makeSession(full);
    writeFileSync(path, write('a', 10));
    expect((await read()).spent).toBe(50);
    expect((await read()).spent).toBe(50);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('hold no word of the transcript in the cache', async () => {
    const { path, folder, read } = makeSession();
    writeFileSync(path, write('a', 10));
    await read();
    const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(kept.join()).toContain(model);
    expect(kept.join()).not.toContain('Grüße');
  });
});
