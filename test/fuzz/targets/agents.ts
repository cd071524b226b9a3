import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readRollout } from '../../../src/agents/agent-files.ts';
import { parseHookCall } from '../../../src/agents/calls/hook-call.ts';
import { parseStatusCall } from '../../../src/agents/calls/status-call.ts';
import { parseTestOutput } from '../../../src/agents/calls/test-output.ts';
import { findLimit } from '../../../src/agents/provider-limit.ts';
import { makeMeters, reconcileMeters } from '../../../src/agents/transcript/meters.ts';
import { endsWithAnswer, readTranscript, unread } from '../../../src/agents/transcript/transcript.ts';
import { readTools } from '../../../src/agents/transcript/transcript-tools.ts';
import { showStatusLine } from '../../../src/cli/direct/statusline.ts';
import { measureContext } from '../../../src/cost/context-window.ts';
import type { Usage } from '../../../src/cost/ledger.ts';
import { parseEpicId } from '../../../src/ids.ts';
import { checkFacts, cleanFacts } from '../../../src/record/clean-facts.ts';
import { presetRedactor } from '../../../src/redact/redactor.ts';
import { must, mustBeShowable, type Target, type Verdict } from '../target.ts';
import { scratch } from './scratch.ts';

/** What real agents wrote. Both the fuzzer and vitest run at the top of the repository. */
const fixtures = 'test/fixtures/agents';

function readAll(...folders: readonly string[]): Buffer[] {
  return folders.flatMap((folder) =>
    readdirSync(join(fixtures, folder))
      .sort()
      .map((name) => readFileSync(join(fixtures, folder, name))),
  );
}

const hook: Target = {
  name: 'hook call',
  form: 'json',
  weight: 2,
  samples: readAll('claude/hooks', 'codex/hooks'),
  run: async (input, random): Promise<Verdict> => {
    const call = parseHookCall(random.pick(['claude', 'codex']), input.toString('utf8'));
    if (call === null) return 'refused';
    must(/^[\w-]{1,128}$/.test(call.agentSession), 'an agent session is a plain word');
    if (call.event.kind !== 'tool') return 'accepted';
    const facts = await cleanFacts(call.event.facts, presetRedactor.redact);
    await checkFacts(facts).catch((error: unknown) => {
      throw new Error(
        `must: a hook's facts can be recorded: ${error instanceof Error ? error.message : error}`,
      );
    });
    return 'accepted';
  },
};

const status: Target = {
  name: 'status line',
  form: 'json',
  weight: 2,
  samples: readAll('claude/statusline'),
  run: (input) => {
    const call = parseStatusCall(input.toString('utf8'));
    if (call === null || call.context === null) return 'refused';
    const context = measureContext(call.context, call.agentSession, 'auto', null);
    must(Number.isFinite(context.fill) && context.fill >= 0, `a fill of ${context.fill}`);
    must(Number.isSafeInteger(context.tokens), `${context.tokens} tokens`);
    const percent = call.usedPercent ?? context.fill * 100;
    const budget = { spentUsd: 1, limitUsd: 2, percent: 50, level: 'ok' } as never; // of no matter here
    mustBeShowable(
      showStatusLine(
        { epic: parseEpicId('x'), number: 1, session: 1, budget, gates: 'red', percent, age: 1 },
        80,
      ),
      'the status line',
    );
    return 'accepted';
  },
};

export function mustBeUsage(usage: Usage): void {
  const { micros, input, output, cacheRead, cacheWrite, unpriced, estimated = 0 } = usage;
  for (const amount of [micros, input, output, cacheRead, cacheWrite, unpriced, estimated])
    must(Number.isSafeInteger(amount) && amount >= 0, `an amount of ${amount}`);
}

const folder = join(scratch, 'transcripts');
mkdirSync(folder, { recursive: true });

function meter(path: string, pieces: readonly Buffer[]) {
  rmSync(path, { force: true });
  let state = unread;
  let reading = readTranscript(state, [path]).reading;
  let written = Buffer.alloc(0);
  for (const piece of pieces) {
    written = Buffer.concat([written, piece]);
    writeFileSync(path, written);
    ({ state, reading } = readTranscript(state, [path]));
  }
  const prices = { dear: { input: 1, output: 2, cacheRead: 3, cacheWrite5m: 4, cacheWrite1h: 5 } };
  const counted = makeMeters(reading.counted, prices);
  return reconcileMeters(counted, reading.accounts, prices, reading.since);
}

const transcript = (name: string, samples: readonly Buffer[]): Target => ({
  name,
  form: 'lines',
  weight: 2,
  samples,
  run: async (input, random): Promise<Verdict> => {
    const path = join(folder, 'agent-session.jsonl');
    const meters = meter(path, [input]);
    for (const usage of Object.values(meters)) mustBeUsage(usage);
    const facts = Object.entries(meters).map(([model, usage]) => ({ kind: 'meter' as const, model, usage }));
    const told = readTools({}, { [path]: 0 }).uses.flatMap((tool) => tool.facts);
    await checkFacts(await cleanFacts([...facts, ...told], presetRedactor.redact)).catch((error: unknown) => {
      throw new Error(
        `must: what is read can be recorded: ${error instanceof Error ? error.message : error}`,
      );
    });
    const limit = findLimit(path);
    must(limit?.resetsAt == null || Number.isFinite(limit.resetsAt), `a reset at ${limit?.resetsAt}`);
    readRollout(path);
    endsWithAnswer(path, 'x');
    if (input.length < 50_000) {
      // However the reading is cut into pieces. A line that is read while it grows may count what its end takes back.
      const end = input.indexOf(0x0a, random.int(input.length + 1)) + 1;
      const inPieces = meter(path, [input.subarray(0, end), input.subarray(end)]);
      must(isDeepStrictEqual(inPieces, meters), 'a transcript that is read in pieces says the same');
    }
    return Object.keys(meters).length > 0 ? 'accepted' : 'refused';
  },
});

const testOutput: Target = {
  name: 'test output',
  form: 'text',
  samples: [
    'Test Suites: 1 failed, 3 passed, 4 total\nTests: 2 failed, 10 passed, 12 total\n  ● a › b\n',
    ' FAIL  test/a.test.ts > does it\n Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 20 passed (21)\n',
    '=== FAIL: TestX\n--- FAIL: TestX (0.00s)\nFAIL\nok  \tx\t0.1s\n',
    'FAILED tests/test_a.py::test_b - assert 1\n==== 1 failed, 3 passed in 0.12s ====\n',
    'test result: FAILED. 3 passed; 1 failed; 0 ignored\n',
  ].map((text) => Buffer.from(text)),
  run: (input) => {
    const found = parseTestOutput(input.toString('utf8'));
    if (found === null) return 'refused';
    for (const count of [found.passed, found.failed, found.total])
      must(count === null || (Number.isFinite(count) && count >= 0), `a count of ${count}`);
    return 'accepted';
  },
};

export const agentTargets: readonly Target[] = [
  hook,
  status,
  transcript('claude transcript', readAll('claude/transcripts')),
  transcript('codex rollout', readAll('codex/rollouts', 'codex/exec')),
  testOutput,
];
