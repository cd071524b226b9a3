import type { TestState } from '../state/current.ts';
import { findFailures } from './test-failures.ts';

/* What a test runner printed, told from its summary line. Where several speak, the last one counts. */

type Counts = {
  readonly passed: number | null;
  readonly failed: number | null;
  readonly total: number | null;
};
type Runner = { readonly summary: RegExp; counts(match: RegExpExecArray, text: string): Counts };

const numberIn = (text: string, pattern: RegExp): number | null => {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? null : Number(found);
};

const runners: readonly Runner[] = [
  {
    // vitest: `Tests  1 failed | 12 passed (13)`; jest: `Tests:       1 failed, 12 passed, 13 total`
    summary: /^[ \t]*Tests:?[ \t](.*(?:passed|failed).*)$/gm,
    counts: ([, line = '']) => ({
      passed: numberIn(line, /(\d+) passed/) ?? 0,
      failed: numberIn(line, /(\d+) failed/) ?? 0,
      total: numberIn(line, /\((\d+)\)|(\d+) total/) ?? numberIn(line, /(\d+) total/),
    }),
  },
  {
    // pytest: `==== 1 failed, 5 passed in 0.12s ====`
    summary: /^=+ ([^=\n]*(?:passed|failed|error)[^=\n]*) in [\d.]+s[^=\n]*=+$/gm,
    counts: ([, line = '']) => ({
      passed: numberIn(line, /(\d+) passed/) ?? 0,
      failed: (numberIn(line, /(\d+) failed/) ?? 0) + (numberIn(line, /(\d+) errors?/) ?? 0),
      total: null,
    }),
  },
  {
    // cargo: `test result: FAILED. 1 passed; 1 failed; 0 ignored; …`, once a crate
    summary: /^test result: \w+\. (\d+) passed; (\d+) failed/gm,
    counts: (_, text) => {
      const all = [...text.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)];
      const sum = (part: 1 | 2) => all.reduce((total, match) => total + Number(match[part]), 0);
      return { passed: sum(1), failed: sum(2), total: null };
    },
  },
  {
    // node --test: `# pass 3`, `# fail 1` (or `ℹ pass 3`)
    summary: /^[#ℹ] pass (\d+)$/gm,
    counts: ([, passed], text) => ({
      passed: Number(passed),
      failed: numberIn(text, /^[#ℹ] fail (\d+)$/m) ?? 0,
      total: numberIn(text, /^[#ℹ] tests (\d+)$/m),
    }),
  },
  {
    // mocha: `12 passing (1s)`, `1 failing`
    summary: /^[ \t]*(\d+) passing(?: \(.*\))?$/gm,
    counts: ([, passed], text) => ({
      passed: Number(passed),
      failed: numberIn(text, /^[ \t]*(\d+) failing$/m) ?? 0,
      total: null,
    }),
  },
  {
    // go test: `ok  	pkg	0.1s`, `FAIL	pkg	0.1s`; the packages are what it counts
    summary: /^(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))/gm,
    counts: (_, text) => ({
      passed: [...text.matchAll(/^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))/gm)].length,
      failed: [...text.matchAll(/^FAIL[ \t]+\S+[ \t]+[\d.]+s/gm)].length,
      total: null,
    }),
  },
];

const mostNames = 20;
/** The end of what was printed tells it; a flood before that does not matter. */
const mostCharacters = 200_000;
/** Runners write shorter ones; in a line without an end the patterns would look for one again and again. */
const longestLine = 300;
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

/** What the tests said, or null where this is not what a test runner prints. */
export function parseTestOutput(printed: string): TestState | null {
  const lines = printed.slice(-mostCharacters).replace(escapes, '').split(/\r?\n/);
  const text = lines.map((line) => line.slice(0, longestLine)).join('\n');
  let last: { at: number; counts: Counts } | null = null;
  for (const { summary, counts } of runners) {
    for (const match of text.matchAll(summary)) {
      if (last === null || match.index >= last.at) last = { at: match.index, counts: counts(match, text) };
    }
  }
  if (last === null) return null;
  const { passed, failed, total } = last.counts;
  const failures = (failed ?? 0) > 0 ? findFailures(text.split('\n'), mostNames) : [];
  const failing = failures.map(({ name }) => name);
  const why = Object.fromEntries(failures.flatMap(({ name, why }) => (why === null ? [] : [[name, why]])));
  const all = total ?? (passed === null || failed === null ? null : passed + failed);
  return {
    status: (failed ?? 0) > 0 ? 'failed' : 'passed',
    passed,
    failed,
    total: all,
    failing,
    ...(Object.keys(why).length > 0 && { why }),
    text: null,
  };
}
