import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeMeters } from '../../src/agents/transcript/meters.ts';
import { findTranscripts, readTranscript, unread } from '../../src/agents/transcript/transcript.ts';
import type { Tokens } from '../../src/cost/tokens.ts';
import { cleanEnvironment, makeFolder } from '../support/repository.ts';
import { formatMessage, pricedModels } from '../support/transcripts.ts';
import { programOf } from './versions.mjs';

/** Null where it cannot be had: then nothing is compared, and the stage says so at its end. */
const judge = programOf('ccusage');

type Written = {
  readonly file: number;
  readonly id: number;
  readonly model: number;
  readonly tokens: Tokens;
};

// Prompts stay below 200,000 tokens: past that ccusage knows other prices for one of the models.
const amount = fc.nat({ max: 40_000 });
const tokens: fc.Arbitrary<Tokens> = fc.record({
  input: amount,
  output: fc.integer({ min: 1, max: 40_000 }),
  cacheRead: amount,
  cacheWrite5m: amount,
  cacheWrite1h: amount,
});
const written: fc.Arbitrary<Written> = fc.record({
  file: fc.nat({ max: 2 }),
  id: fc.nat({ max: 60 }),
  model: fc.nat({ max: pricedModels.length - 1 }),
  tokens,
});

/** Writes transcripts with repeats that grow, in the session's own file and in its helpers'. */
function writeTranscripts(projects: string, all: readonly Written[]): string {
  const path = join(projects, '-a-project', 'session.jsonl');
  const names = [
    path,
    ...['1', '2'].map((name) => join(dirname(path), 'session', 'subagents', `agent-${name}.jsonl`)),
  ];
  mkdirSync(dirname(names[1] ?? ''), { recursive: true });
  const known = new Map<number, Written>();
  const lines: string[][] = names.map(() => []);
  for (const one of all) {
    const before = known.get(one.id);
    const grown = before && {
      ...before,
      tokens: { ...before.tokens, output: before.tokens.output + one.tokens.output },
    };
    // A message grows where it began; elsewhere it is copied as it is by now.
    const line = before === undefined ? one : one.file === before.file && grown ? grown : before;
    known.set(one.id, { ...line });
    lines[one.file]?.push(
      formatMessage({ id: `msg_${one.id}`, model: pricedModels[line.model] ?? '', tokens: line.tokens }),
    );
  }
  for (const [index, name] of names.entries())
    writeFileSync(name, lines[index]?.map((line) => `${line}\n`).join('') ?? '');
  return path;
}

describe.skipIf(judge === null)('ccusage', () => {
  it('finds the same tokens and, to the micro-dollar, the same cost of every model', () => {
    let compared = 0;
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 150 }), (all) => {
        const home = makeFolder();
        const claude = join(home, '.claude');
        const path = writeTranscripts(join(claude, 'projects'), all);
        const env = cleanEnvironment(home, { CLAUDE_CONFIG_DIR: claude });
        const options = ['claude', 'session', '--json', '--offline', '--mode', 'calculate'];
        const output = execFileSync(judge ?? '', options, { env, encoding: 'utf8' });
        const { sessions } = JSON.parse(output);
        const { counted } = readTranscript(unread, findTranscripts(path)).reading;
        const theirs: Record<string, object> = {};
        for (const {
          modelName,
          cost,
          inputTokens,
          outputTokens,
          cacheReadTokens,
          cacheCreationTokens,
        } of sessions[0].modelBreakdowns) {
          // Theirs is a sum of fractions, ours is exact and rounded once: half a micro-dollar may fall either way.
          const micros = Math.round(cost * 1e6 + 1e-4);
          theirs[modelName] = {
            micros,
            input: inputTokens,
            output: outputTokens,
            cacheRead: cacheReadTokens,
            cacheWrite: cacheCreationTokens,
            unpriced: 0,
          };
          compared++;
        }
        expect(sessions).toHaveLength(1);
        expect(makeMeters(counted, {})).toEqual(theirs);
      }),
      { numRuns: 300 },
    );
    expect(compared).toBeGreaterThan(300);
  }, 300_000);
});
