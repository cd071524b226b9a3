import { appendFileSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findLimit } from '../../src/agents/provider-limit.ts';
import { decideWait, mostWaits } from '../../src/supervise/decide.ts';
import { makeFolder } from '../support/repository.ts';

const sample = (name: string) => fileURLToPath(new URL(`../fixtures/agents/${name}.jsonl`, import.meta.url));

describe("a provider's limit", () => {
  it.each(['claude/transcripts/rate-limit', 'codex/rollouts/rate-limit'])(
    'is the last word of %s',
    (name) => {
      expect(findLimit(sample(name))).toEqual({ resetsAt: null });
    },
  );

  it.each([
    'claude/transcripts/work',
    'claude/transcripts/halted',
    'codex/rollouts/work',
    'codex/rollouts/server-error',
    'no/such/file',
  ])('is not in %s', (name) => {
    expect(findLimit(sample(name))).toBeNull();
  });

  it('says when it ends, and is over when the agent speaks again', () => {
    const path = join(makeFolder(), 'a.jsonl');
    copyFileSync(sample('claude/transcripts/work'), path);
    const line = {
      type: 'assistant',
      isApiErrorMessage: true,
      error: 'rate_limit',
      quotaLimits: { resetsAt: 1_794_810_872 },
    };
    appendFileSync(path, `${JSON.stringify(line)}\nnot JSON\n{"type":"cost-state"}\n`);
    expect(findLimit(path)).toEqual({ resetsAt: 1_794_810_872_000 });
    appendFileSync(path, '{"type":"assistant","message":{"content":[]}}\n');
    expect(findLimit(path)).toBeNull();
    writeFileSync(path, '');
    expect(findLimit(path)).toBeNull();
  });
});

describe('waiting', () => {
  const minute = 60_000;

  it('lasts until the reset, where one is given that makes sense', () => {
    expect(decideWait({ resetsAt: 5 * minute }, minute, 0)).toBe(5 * minute + 1_000);
    expect(decideWait({ resetsAt: minute - 1 }, minute, 0)).toBe(minute + 1_000);
    expect(decideWait({ resetsAt: minute - 1 }, minute, 1)).toBe(3 * minute);
    expect(decideWait({ resetsAt: Number.MAX_SAFE_INTEGER }, minute, 0)).toBe(2 * minute);
  });

  it('lasts longer each time, and ends', () => {
    const waits = Array.from({ length: mostWaits + 1 }, (_, tried) =>
      decideWait({ resetsAt: null }, 0, tried),
    );
    expect(waits.slice(0, 3)).toEqual([minute, 2 * minute, 4 * minute]);
    expect(waits.at(-2)).toBe(30 * minute);
    expect(waits.at(-1)).toBeNull();
    expect(decideWait({ resetsAt: 5 * minute }, 0, mostWaits)).toBeNull();
  });
});
