import { describe, expect, it } from 'vitest';
import { parseTestOutput } from '../../src/agents/calls/test-output.ts';

const samples: { readonly [runner: string]: readonly [printed: string, expected: object | null] } = {
  vitest: [
    ' FAIL  test/login.test.ts > redirects to /home\n\n Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 12 passed (13)\n',
    {
      status: 'failed',
      passed: 12,
      failed: 1,
      total: 13,
      failing: ['test/login.test.ts > redirects to /home'],
    },
  ],
  jest: [
    'Tests:       2 failed, 10 passed, 12 total\nSnapshots:   0 total\n',
    { status: 'failed', passed: 10, failed: 2, total: 12 },
  ],
  'jest, all well': [
    'Tests:       10 passed, 10 total\n',
    { status: 'passed', passed: 10, failed: 0, total: 10, failing: [] },
  ],
  pytest: [
    'FAILED tests/test_a.py::test_b - AssertionError: x\n========= 1 failed, 5 passed in 0.12s =========\n',
    { status: 'failed', passed: 5, failed: 1, total: 6, failing: ['tests/test_a.py::test_b'] },
  ],
  'cargo, two crates': [
    'test a::b ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed; 0 ignored\n',
    { status: 'failed', passed: 4, failed: 1, total: 5, failing: ['a::b'] },
  ],
  go: [
    '--- FAIL: TestLogin (0.00s)\nFAIL\nFAIL\texample.com/x\t0.1s\nok  \texample.com/y\t0.2s\n',
    { status: 'failed', passed: 1, failed: 1, failing: ['TestLogin'] },
  ],
  'node --test': [
    'not ok 2 - adds\n# tests 3\n# pass 2\n# fail 1\n',
    { status: 'failed', passed: 2, failed: 1, total: 3, failing: ['adds'] },
  ],
  mocha: ['  12 passing (1s)\n  1 failing\n', { status: 'failed', passed: 12, failed: 1, total: 13 }],
  'in colours': [
    '\u001b[32m      Tests  2 passed (2)\u001b[39m\n',
    { status: 'passed', passed: 2, total: 2 },
  ],
  'a build': ['webpack compiled successfully in 300 ms\n', null],
  'prose about tests': ['All tests passed, I think.\n', null],
  nothing: ['', null],
};

describe('what a test runner printed', () => {
  it.each(Object.entries(samples))('%s', (_, [printed, expected]) => {
    if (expected === null) expect(parseTestOutput(printed)).toBeNull();
    else expect(parseTestOutput(printed)).toMatchObject(expected);
  });

  it('is told from its end, however much came before', () => {
    const flood = 'x'.repeat(5_000_000);
    expect(parseTestOutput(`${flood}\n      Tests  2 passed (2)\n`)).toMatchObject({ passed: 2 });
  });

  it.each<[runner: string, printed: string, failing: string[], why: object]>([
    [
      'node --test, TAP',
      `# Subtest: login
    # Subtest: locks after 5 attempts
    not ok 1 - locks after 5 attempts
      ---
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly equal:

        200 !== 429

      code: 'ERR_ASSERTION'
      ...
    ok 3 - later # SKIP
    not ok 4 - some day # TODO
    1..4
not ok 1 - login
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
# tests 4
# pass 2
# fail 1
`,
      ['locks after 5 attempts'],
      { 'locks after 5 attempts': 'Expected values to be strictly equal: 200 !== 429' },
    ],
    [
      'node --test, for people',
      `▶ login
  ✖ locks after 5 attempts (1.106281ms)
    AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

    200 !== 429

        at TestContext.<anonymous> (file:///a.test.mjs:2:66)
  ✔ ok (0.113359ms)
  ﹣ later (0.064316ms) # SKIP
✖ login (2.987919ms)
✖ failing tests:
ℹ tests 3
ℹ pass 1
ℹ fail 1
`,
      ['locks after 5 attempts'],
      {
        'locks after 5 attempts':
          'AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 200 !== 429',
      },
    ],
    [
      'vitest',
      ` FAIL  test/login.test.ts > login > locks after 5 attempts
AssertionError: expected 200 to be 429 // Object.is equality

- Expected
+ Received

 FAIL  test/login.test.ts > logs out
Error: no such page
      Tests  2 failed | 12 passed | 1 skipped (15)
`,
      ['test/login.test.ts > login > locks after 5 attempts', 'test/login.test.ts > logs out'],
      {
        'test/login.test.ts > login > locks after 5 attempts':
          'AssertionError: expected 200 to be 429 // Object.is equality',
        'test/login.test.ts > logs out': 'Error: no such page',
      },
    ],
    [
      'jest',
      `  ● login › locks after 5 attempts

    expect(received).toBe(expected) // Object.is equality

    Expected: 429
    Received: 200

Tests:       1 failed, 2 passed, 3 total
`,
      ['login › locks after 5 attempts'],
      { 'login › locks after 5 attempts': 'expected 429, received 200' },
    ],
    [
      'pytest',
      'FAILED tests/test_a.py::test_b - assert 200 == 429\n========= 1 failed, 5 passed in 0.12s =========\n',
      ['tests/test_a.py::test_b'],
      { 'tests/test_a.py::test_b': 'assert 200 == 429' },
    ],
    [
      'cargo',
      `test locks ... FAILED

---- locks stdout ----
thread 'locks' panicked at src/lib.rs:9:9:
assertion \`left == right\` failed
  left: 200
 right: 429

test result: FAILED. 1 passed; 1 failed; 0 ignored
`,
      ['locks'],
      { locks: 'assertion failed left: 200 right: 429' },
    ],
    [
      'go',
      '--- FAIL: TestLogin (0.00s)\n    login_test.go:12: got 200, want 429\nFAIL\nFAIL\texample.com/x\t0.1s\n',
      ['TestLogin'],
      { TestLogin: 'got 200, want 429' },
    ],
  ])('names what failed and what was expected: %s', (_, printed, failing, why) => {
    expect(parseTestOutput(printed)).toMatchObject({ failing, why });
  });
});
