import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parseHookCall } from '../../src/agents/calls/hook-call.ts';
import { readTools, type ToolUse } from '../../src/agents/transcript/transcript-tools.ts';
import { makeFolder } from '../support/repository.ts';

const samples = fileURLToPath(new URL('../fixtures/agents/claude', import.meta.url));
const pathOf = (name: string) => join(samples, 'transcripts', `${name}.jsonl`);

/** What the hook of a tool was told of it. */
function factsOfHook(name: string) {
  const call = parseHookCall('claude', readFileSync(join(samples, 'hooks', `${name}.json`), 'utf8'));
  if (call?.event.kind !== 'tool') throw new Error(`${name} tells of no tool`);
  return { mark: call.event.mark ?? '', facts: call.event.facts };
}

const withMarks = (told: readonly ToolUse[]) => told.map(({ mark, facts }) => ({ mark, facts }));

it.each([
  [
    'work',
    [
      'PostToolUse-Write',
      'PostToolUse-Edit',
      'PostToolUse-Bash',
      'PostToolUse-TaskCreate',
      'PostToolUse-TaskUpdate-in_progress',
      'PostToolUse-TaskUpdate-completed',
      'PostToolUseFailure-Bash',
    ],
  ],
  ['todo', ['PostToolUse-TodoWrite']],
  ['agent', ['PostToolUse-Agent']],
  ['agent-subagent', ['PostToolUse-Write-subagent']],
])('the transcript of %s tells what the hooks of its tools told', (name, hooks) => {
  const { uses } = readTools({}, { [pathOf(name)]: 0 });
  expect(withMarks(uses)).toEqual(hooks.map(factsOfHook));
});

it('a transcript that is read piece by piece tells everything once, wherever it is cut', () => {
  const bytes = readFileSync(pathOf('work'));
  const whole = readTools({}, { [pathOf('work')]: 0 }).uses;
  expect(whole).toHaveLength(7);
  const path = join(makeFolder(), 'work.jsonl');
  for (let step = 1; step < bytes.length; step = step * 2 + 7) {
    writeFileSync(path, '');
    let marks = {};
    const told: ToolUse[] = [];
    for (let from = 0; from < bytes.length; from += step) {
      appendFileSync(path, bytes.subarray(from, from + step));
      // What is remembered is written down in between.
      const read = readTools(JSON.parse(JSON.stringify(marks)), { [path]: 0 });
      told.push(...read.uses);
      ({ marks } = read);
    }
    expect(told, `${step} bytes at a time`).toEqual(whole);
  }
});

it('what another session did before is not told, nor what cannot be understood', () => {
  const path = join(makeFolder(), 'transcript.jsonl');
  const later = Date.parse('2026-11-16T06:11:28.000Z');
  expect(readTools({}, { [pathOf('work')]: later }).uses).toHaveLength(2);
  const lines = [
    '{"type":"assistant","message":{"content":[{"type":"tool_use"',
    '{"type":"user","timestamp":"2026-11-16T06:11:28.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"of nobody"}]}}',
    '{"type":"user","message":{"content":"\\"tool_result\\""}}',
    '["tool_use"]',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  expect(readTools({}, { [path]: 0 }).uses).toEqual([]);
  expect(readTools({}, { [`${path}.gone`]: 0 })).toEqual({ uses: [], marks: {} });
});
