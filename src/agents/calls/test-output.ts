import type { TestState } from '../../state/current.ts';

/* Reads test results from the summary lines of common runners. If there are several, the last one counts. */

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
    // cargo: `test result: FAILED. 1 passed; 1 failed; 0 ignored; …`, once per crate
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
    // go test: `ok  	pkg	0.1s`, `FAIL	pkg	0.1s`; it counts packages
    summary: /^(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))/gm,
    counts: (_, text) => ({
      passed: [...text.matchAll(/^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))/gm)].length,
      failed: [...text.matchAll(/^FAIL[ \t]+\S+[ \t]+[\d.]+s/gm)].length,
      total: null,
    }),
  },
];

const mostNames = 20;
/** The summary is at the end, so earlier output is ignored. */
const mostCharacters = 200_000;
/** Runners write shorter lines, and on an endless one the patterns would be slow. */
const longestLine = 300;
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');

/** Reads test results from a command's output; null if no test runner wrote it. */
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

type TestFailure = { readonly name: string; readonly why: string | null };

/** How runners name a failing test; some add the reason on the same line. */
const headings: readonly RegExp[] = [
  /^[ \t]*(?:FAIL|×|✗|✖) +(?<name>.+?)(?:[ \t]+\(?\d+(?:\.\d+)?[ \t]*m?s\)?)?$/,
  /^[ \t]*● (?<name>.+ › .+)$/,
  /^FAILED (?<name>\S+::\S.*?)(?: - (?<why>.*))?$/,
  /^---- (?<name>\S+) stdout ----$/,
  /^test (?<name>\S+) \.\.\. FAILED$/,
  /^[ \t]*--- FAIL: (?<name>\S+)/,
  /^[ \t]*not ok \d+ - (?<name>.+)$/,
  /^[ \t]*\d+\) (?<name>\S.*?):?$/,
];

/** Headings of the runners themselves, and tests that TAP allows to fail. */
const notTests = /^(?:failing tests:?|test failed)$|#\s*(?:SKIP|TODO)\b/i;

/** How many lines below a failing test are searched for the reason. */
const searchedLines = 40;

/** Lists each failing test once, with the reason if it is printed below the name. */
function findFailures(lines: readonly string[], most: number): TestFailure[] {
  const places = lines.flatMap((line, at) => {
    const named = headings.map((heading) => heading.exec(line)?.groups).find((groups) => groups?.name);
    const name = named?.name?.trim() ?? '';
    return name === '' || notTests.test(name) ? [] : [{ at, name, why: named?.why ?? null }];
  });
  const found = new Map<string, string | null>();
  // A suite fails because of a test in it, which is listed itself.
  const groups = new Set(lines.flatMap((line) => /^[ \t]*▶ (.+?)(?: \(.*\))?$/.exec(line)?.[1] ?? []));
  places.forEach(({ at, name, why }, index) => {
    const end = Math.min(places[index + 1]?.at ?? lines.length, at + searchedLines);
    const below = lines.slice(at + 1, end);
    if (below.some((line) => /subtestsFailed|error: '?(?:\d+ subtests? failed|test failed)/.test(line)))
      groups.add(name);
    found.set(name, found.get(name) ?? why ?? findReason(below));
  });
  const tests = [...found].filter(([name]) => !groups.has(name));
  return (tests.length > 0 ? tests : [...found]).slice(0, most).map(([name, why]) => ({ name, why }));
}

/** Finds the first line that says what was expected. */
function findReason(below: readonly string[]): string | null {
  for (const [at, line] of below.entries()) {
    const rest = below.slice(at + 1);
    const jest = /^[ \t]*Expected(?: [a-z]+)*: +(.+)$/.exec(line)?.[1];
    const received =
      jest && rest.map((next) => /^[ \t]*Received(?: [a-z]+)*: +(.+)$/.exec(next)?.[1]).find(Boolean);
    if (received) return `expected ${jest}, received ${received}`;
    const rust = /^assertion .*failed(?:: (.+))?$/.exec(line);
    if (rust)
      return [rust[1] ?? 'assertion failed', ...rest.slice(0, 2).map((next) => next.trim())].join(' ');
    const go = /^[ \t]+\S+_test\.go:\d+: (.+)$/.exec(line)?.[1];
    if (go) return go;
    const tap = /^[ \t]*error: (?:'(.*)'|"(.*)"|([^|>].*))$/.exec(line);
    if (tap) return tap[1] ?? tap[2] ?? tap[3] ?? null;
    if (/^[ \t]*error: [|>]-?$/.test(line)) return joinLines(rest);
    const error = /^[ \t]*(?:E[ \t]+|→ |\[)?((?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?: .+?)\]?$/.exec(
      line,
    )?.[1];
    // Node prints the differing values below the error.
    if (error) return error.endsWith(':') ? `${error} ${joinLines(rest) ?? ''}`.trim() : error;
  }
  return null;
}

/** Joins the next lines with text into one. */
function joinLines(lines: readonly string[]): string | null {
  const texts = lines.map((line) => line.trim()).filter((line) => line !== '');
  const end = texts.findIndex((line) => /^(?:at |(?:code|stack|name|expected|operator): ?)/.test(line));
  return texts.slice(0, Math.min(3, end === -1 ? 3 : end)).join(' ') || null;
}
