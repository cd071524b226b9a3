/* Which tests failed and what they expected, as the usual runners print it. */

export type TestFailure = { readonly name: string; readonly why: string | null };

/** How a runner names a failing test; some say in the same line what was expected. */
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

/** Titles of a runner's own, and TAP's marks of what may fail. */
const notTests = /^(?:failing tests:?|test failed)$|#\s*(?:SKIP|TODO)\b/i;

const mostLooked = 40;

/** The failing tests, each once, with what was expected where that stands below the name. */
export function findFailures(lines: readonly string[], most: number): TestFailure[] {
  const places = lines.flatMap((line, at) => {
    const named = headings.map((heading) => heading.exec(line)?.groups).find((groups) => groups?.name);
    const name = named?.name?.trim() ?? '';
    return name === '' || notTests.test(name) ? [] : [{ at, name, why: named?.why ?? null }];
  });
  const found = new Map<string, string | null>();
  // A suite fails because of what is in it, and that is named too.
  const groups = new Set(lines.flatMap((line) => /^[ \t]*▶ (.+?)(?: \(.*\))?$/.exec(line)?.[1] ?? []));
  places.forEach(({ at, name, why }, index) => {
    const end = Math.min(places[index + 1]?.at ?? lines.length, at + mostLooked);
    const below = lines.slice(at + 1, end);
    if (below.some((line) => /subtestsFailed|error: '?(?:\d+ subtests? failed|test failed)/.test(line)))
      groups.add(name);
    found.set(name, found.get(name) ?? why ?? findReason(below));
  });
  const tests = [...found].filter(([name]) => !groups.has(name));
  return (tests.length > 0 ? tests : [...found]).slice(0, most).map(([name, why]) => ({ name, why }));
}

/** What was expected and not so: the first line that says it. */
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
    if (/^[ \t]*error: [|>]-?$/.test(line)) return sayLines(rest);
    const error = /^[ \t]*(?:E[ \t]+|→ |\[)?((?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?: .+?)\]?$/.exec(
      line,
    )?.[1];
    // Node says that values differ, and below it which.
    if (error) return error.endsWith(':') ? `${error} ${sayLines(rest) ?? ''}`.trim() : error;
  }
  return null;
}

/** The next lines that say something, as one. */
function sayLines(lines: readonly string[]): string | null {
  const said = lines.map((line) => line.trim()).filter((line) => line !== '');
  const end = said.findIndex((line) => /^(?:at |(?:code|stack|name|expected|operator): ?)/.test(line));
  return said.slice(0, Math.min(3, end === -1 ? 3 : end)).join(' ') || null;
}
