import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { defaultConfig, noticeKinds } from '../../src/config/load.ts';
import { parseConfig } from '../../src/config/parse.ts';

const parse = (text: string) => parseConfig(text, 'config.yaml');
const template = readFileSync(new URL('../../templates/config.yaml', import.meta.url), 'utf8');

/** What is said of a config, without the name of the file. */
function refusal(text: string): string {
  try {
    parse(text);
  } catch (error) {
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    return (error instanceof Error ? error.message : '').replace(/^config\.yaml:/, '');
  }
  return 'accepted';
}

describe('a config', () => {
  it.each(['', '# only a comment\n', '---\n', '\uFEFF', '{}', 'checkpoint:\n', 'prices:\n', template])(
    'of nothing changes nothing: %j',
    (text) => {
      expect(parse(text)).toEqual(defaultConfig);
    },
  );

  it('as shipped holds every key with its default', () => {
    const uncommented = template.replace(/^( *)# (?=\w+:)/gm, '$1');
    expect(parse(uncommented)).toEqual(defaultConfig);
    // Read a second time with other values, so that a key that is not there cannot pass for one that is.
    const keys = [...uncommented.matchAll(/^( *)(\w+):/gm)].map(([, indent, key]) => `${indent}${key}`);
    const known = Object.entries(defaultConfig).flatMap(([key, value]) => {
      const isSection = typeof value === 'object' && value !== null && key !== 'prices';
      return [key, ...(isSection ? Object.keys(value).map((inner) => `  ${inner}`) : [])];
    });
    expect(keys).toEqual(known);
  });

  it('is resolved to the units orch counts in', () => {
    const text = `
epic: feat-login
checkpoint:
  interval: 1h30m
  on: [task, issue_complete, task]
  cost: [0.9, 0.5, 0.5]
  keep: 100
  snapshot: false
  maxFileSize: 512 KB
  stopGrace: 0s
budget: 5.50
gates:
  - { name: test, run: npm test }
  - { name: lint, run: [npx, lint], fix: npx lint --fix, timeout: 90s }
context: { window: 200000, critical: log, emergency: stop }
redact: { presets: false, patterns: ['ACME-[0-9]{8}'] }
sync: { remote: upstream, snapshots: false, budgets: accept }
witness: { quiet: 2m, stuck: 1h, repeats: 5, patience: 90s, actions: [nudge] }
routing: { models: { codex: [gpt-5.4-mini, gpt-5.4] }, rules: [{ labels: [docs], tier: small }], learn: true }
telemetry: true
orchestrationFile: off
worktrees: ../trees
prices:
  my/model: { input: 3, output: 15.5, cacheRead: 0.3 }
retention: { failed: off, snapshots: 1d, trash: 36500d, archive: 90d }
`;
    const expected = {
      epic: 'feat-login',
      checkpoint: {
        interval: 5_400_000,
        on: ['task', 'issue_complete'],
        cost: [0.5, 0.9],
        keep: 100,
        snapshot: false,
        maxFileSize: 524_288,
        stopGrace: 0,
      },
      budget: 5_500_000,
      gates: [
        { name: 'test', run: 'npm test', fix: null, timeout: 300_000 },
        { name: 'lint', run: ['npx', 'lint'], fix: 'npx lint --fix', timeout: 90_000 },
      ],
      context: { window: 200_000, critical: 'log', emergency: 'stop' },
      redact: { presets: false, patterns: ['ACME-[0-9]{8}'] },
      sync: { remote: 'upstream', snapshots: false, budgets: 'accept' },
      witness: { quiet: 120_000, stuck: 3_600_000, repeats: 5, patience: 90_000, actions: ['nudge'] },
      routing: {
        models: { codex: ['gpt-5.4-mini', 'gpt-5.4'] },
        rules: [{ labels: ['docs'], tier: 'small' }],
        learn: true,
      },
      notify: [],
      telemetry: true,
      orchestrationFile: 'off',
      worktrees: '../trees',
      prices: {
        'my/model': { input: 3, output: 15.5, cacheRead: 0.3, cacheWrite5m: null, cacheWrite1h: null },
      },
      retention: { failed: null, snapshots: 86_400_000, trash: 3_153_600_000_000, archive: 7_776_000_000 },
    };
    expect(parse(text)).toEqual(expected);
    expect(parse(text.replaceAll('\n', '\r\n'))).toEqual(expected);
  });

  it.each([
    ['checkpoint: { interval: off }', { interval: null }],
    ['checkpoint: { interval: "90 s" }', { interval: 90_000 }],
    ['checkpoint: { maxFileSize: 4096 }', { maxFileSize: 4096 }],
    ['checkpoint: { cost: [] }', { cost: [] }],
    ['checkpoint: { cost: [1] }', { cost: [1] }],
  ])('%s', (text, expected) => {
    expect(parse(text).checkpoint).toEqual({ ...defaultConfig.checkpoint, ...expected });
  });

  it('reads who hears of what', () => {
    const text = `notify:
  - { name: chat, on: [question, stuck], webhook: $CHAT_URL, secret: CHAT_SECRET }
  - { name: desk, on: [budget], command: [notify-send, orch] }
  - { name: log, file: ../notices.jsonl }
`;
    expect(parse(text).notify).toEqual([
      {
        ...{ name: 'chat', on: ['question', 'stuck'] },
        to: { kind: 'webhook', url: '$CHAT_URL', secret: 'CHAT_SECRET' },
      },
      { name: 'desk', on: ['budget'], to: { kind: 'command', run: ['notify-send', 'orch'] } },
      { name: 'log', on: [...noticeKinds], to: { kind: 'file', path: '../notices.jsonl' } },
    ]);
  });

  it('may use anchors', () => {
    const text = 'gates:\n  - { name: a, run: &test [npm, test] }\n  - { name: b, run: *test }\n';
    expect(parse(text).gates).toMatchObject([{ run: ['npm', 'test'] }, { run: ['npm', 'test'] }]);
  });

  it('keeps every amount of money to the micro-dollar', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999_999_999 }),
        fc.integer({ min: 0, max: 999_999 }),
        (usd, rest) => {
          const text = `budget: "${usd}.${String(rest).padStart(6, '0')}"`;
          expect(parse(text).budget).toBe(usd * 1_000_000 + rest);
        },
      ),
    );
  });

  it('never takes a key it does not know, whatever its name', () => {
    const known = new Set(Object.keys(defaultConfig));
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '<<')),
        fc.constantFrom('top', 'checkpoint', 'prices'),
        (key, where) => {
          fc.pre(!known.has(key));
          const inner = Object.fromEntries([[key, 1]]);
          const text = stringify(where === 'top' ? inner : { [where]: inner });
          fc.pre(where === 'top' || !Object.hasOwn(defaultConfig.checkpoint, key));
          expect(refusal(text)).not.toBe('accepted');
        },
      ),
    );
  });
});

const durations = 'a duration such as 15m (ms, s, m, h, d), from 1s to 24d, or off';
const money = 'dollars from 0 to 999999999.999999, such as 5 or 5.50, or null';
const top =
  'epic, checkpoint, budget, gates, context, redact, sync, witness, routing, notify, telemetry, orchestrationFile, worktrees, prices, retention';
const inCheckpoint = 'interval, on, cost, keep, snapshot, maxFileSize, stopGrace';
const epicIds =
  'an epic id (letters, digits, ".", "_" and "-", at most 64, starting with a letter or digit), or null';
const optional = 'session_start, error, task, batch, pre_compact, context_tier, issue_complete';

describe('a wrong config names place, key, what was found and what is allowed', () => {
  it.each([
    // Keys
    ['budgte: 5', `1:1: budgte: unknown key, did you mean budget?; allowed: ${top}`],
    ['# x\n\nnonsense: 5', `3:1: nonsense: unknown key; allowed: ${top}`],
    ['interval: 5m', `1:1: interval: unknown key, did you mean checkpoint.interval?; allowed: ${top}`],
    [
      'checkpoint:\n  max_file_size: 1MB',
      `2:3: checkpoint.max_file_size: unknown key, did you mean maxFileSize?; allowed: ${inCheckpoint}`,
    ],
    [
      'checkpoint:\n  intreval: 5m\n  kep: 3',
      `2:3: checkpoint.intreval: unknown key, did you mean interval?; allowed: ${inCheckpoint} (and 1 more)`,
    ],
    [
      'checkpoint: { kepe: 3 }',
      `1:15: checkpoint.kepe: unknown key, did you mean keep?; allowed: ${inCheckpoint}`,
    ],
    ['"\\e[2J\\u202Ex": 1', `1:1: [2Jx: unknown key; allowed: ${top}`],
    ['epic: "\\e[2J\\u202E\\x9B"', `1:7: epic: found "\\u001b[2J"; allowed: ${epicIds}`],
    ['__proto__: 1', `1:1: __proto__: unknown key; allowed: ${top}`],
    ['checkpoint: 5', `1:13: checkpoint: found 5; allowed: a mapping with ${inCheckpoint}`],
    ['checkpoint: [a]', `1:13: checkpoint: found a list; allowed: a mapping with ${inCheckpoint}`],
    // Durations and sizes
    ['checkpoint:\n  interval: 15', `2:13: checkpoint.interval: found 15; allowed: ${durations}`],
    [
      'checkpoint:\n  interval: 15 apples',
      `2:13: checkpoint.interval: found "15 apples"; allowed: ${durations}`,
    ],
    ['checkpoint:\n  interval:', `2:12: checkpoint.interval: found nothing; allowed: ${durations}`],
    ['checkpoint: { interval: 0s }', `1:25: checkpoint.interval: found "0s"; allowed: ${durations}`],
    ['checkpoint: { interval: -5m }', `1:25: checkpoint.interval: found "-5m"; allowed: ${durations}`],
    ['checkpoint: { interval: 25d }', `1:25: checkpoint.interval: found "25d"; allowed: ${durations}`],
    [
      'checkpoint: { stopGrace: off }',
      '1:26: checkpoint.stopGrace: found "off"; allowed: a duration such as 5s (ms, s, m, h, d), from 0s to 1h',
    ],
    [
      'checkpoint: { maxFileSize: 10XB }',
      '1:28: checkpoint.maxFileSize: found "10XB"; allowed: a size such as 10MB (KB, MB, GB) or a number of bytes, from 1 to 1024GB',
    ],
    [
      'retention: { trash: 0d }',
      '1:21: retention.trash: found "0d"; allowed: a duration such as 30d (ms, s, m, h, d), from 1m to 36500d, or off',
    ],
    // Triggers, fractions, numbers
    ['checkpoint: { on: task }', `1:19: checkpoint.on: found "task"; allowed: a list of ${optional}`],
    ['checkpoint: { on: [tusk] }', `1:20: checkpoint.on[0]: found "tusk"; allowed: ${optional}`],
    [
      'checkpoint: { on: [task, interval] }',
      `1:26: checkpoint.on[1]: interval is set with checkpoint.interval; allowed: ${optional}`,
    ],
    [
      'checkpoint: { on: [pause] }',
      `1:20: checkpoint.on[0]: pause is always on: leave it out; allowed: ${optional}`,
    ],
    [
      'checkpoint: { cost: [0.5, 80] }',
      '1:27: checkpoint.cost[1]: found 80; 80% is 0.8; allowed: a fraction of the budget above 0 and up to 1, such as 0.8',
    ],
    [
      'checkpoint: { cost: [0] }',
      '1:22: checkpoint.cost[0]: found 0; allowed: a fraction of the budget above 0 and up to 1, such as 0.8',
    ],
    [
      'checkpoint: { cost: [.nan] }',
      '1:22: checkpoint.cost[0]: found NaN; allowed: a fraction of the budget above 0 and up to 1, such as 0.8',
    ],
    ['checkpoint: { keep: 0 }', '1:21: checkpoint.keep: found 0; allowed: a whole number from 1 to 100'],
    ['checkpoint: { keep: 101 }', '1:21: checkpoint.keep: found 101; allowed: a whole number from 1 to 100'],
    ['checkpoint: { keep: 1.5 }', '1:21: checkpoint.keep: found 1.5; allowed: a whole number from 1 to 100'],
    ['checkpoint: { keep: "5" }', '1:21: checkpoint.keep: found "5"; allowed: a whole number from 1 to 100'],
    ['checkpoint: { snapshot: yes }', '1:25: checkpoint.snapshot: found "yes"; allowed: true or false'],
    // Money
    ['budget: -5', `1:9: budget: found -5; allowed: ${money}`],
    ['budget: .nan', `1:9: budget: found NaN; allowed: ${money}`],
    ['budget: .inf', `1:9: budget: found Infinity; allowed: ${money}`],
    ['budget: 1e12', `1:9: budget: found 1000000000000; allowed: ${money}`],
    ['budget: 1000000000', `1:9: budget: found 1000000000; allowed: ${money}`],
    ['budget: 0.0000001', `1:9: budget: found 1e-7; allowed: ${money}`],
    ['budget: five', `1:9: budget: found "five"; allowed: ${money}`],
    ['budget: true', `1:9: budget: found true; allowed: ${money}`],
    [
      'prices: { m: { input: -1, output: 1 } }',
      '1:23: prices.m.input: found -1; allowed: dollars per million tokens, from 0 to 1000000',
    ],
    [
      'prices: { m: { input: 1 } }',
      '1:14: prices.m.output: found nothing; allowed: dollars per million tokens, from 0 to 1000000',
    ],
    [
      'prices: { m: { input: 1, output: 1, cachRead: 1 } }',
      '1:37: prices.m.cachRead: unknown key, did you mean cacheRead?; allowed: input, output, cacheRead, cacheWrite5m, cacheWrite1h',
    ],
    // Gates
    [
      'gates: manual',
      '1:8: gates: found "manual"; allowed: auto, or a list of {name, run, fix, timeout} ([] for none)',
    ],
    [
      'gates:\n  - name: a\n',
      '2:5: gates[0].run: found nothing; allowed: a shell line, or a list of a program and its arguments',
    ],
    [
      'gates:\n  - name: a\n    run: []\n',
      '3:10: gates[0].run: found a list; allowed: a shell line, or a list of a program and its arguments',
    ],
    [
      'gates:\n  - name: a\n    run: [npm, 5]\n',
      '3:10: gates[0].run: found a list; allowed: a shell line, or a list of a program and its arguments',
    ],
    [
      'gates:\n  - { name: a, run: x }\n  - { name: a, run: y }\n',
      '3:13: gates[1].name: found "a" twice; allowed: a name no other gate has',
    ],
    [
      'gates:\n  - { name: "a\\nb", run: x }\n',
      '2:13: gates[0].name: found "a\\nb"; allowed: a name on one line, at most 64 long',
    ],
    [
      'gates:\n  - { nam: a, run: x }\n',
      '2:7: gates[0].nam: unknown key, did you mean name?; allowed: name, run, fix, timeout',
    ],
    [
      'gates:\n  - &g { name: a, run: x, timeout: 0 }\n',
      '2:36: gates[0].timeout: found 0; allowed: a duration such as 5m (ms, s, m, h, d), from 1ms to 24d',
    ],
    // Receivers of notices
    [
      'notify: true',
      '1:9: notify: found true; allowed: a list of {name, on, webhook, secret}, {name, on, command} or {name, on, file} ([] for none)',
    ],
    [
      'notify:\n  - { name: a, file: x }\n  - { name: a, file: y }\n',
      '3:13: notify[1].name: found "a" twice; allowed: a name no other receiver has',
    ],
    [
      'notify: [{ name: a, on: [done], file: x }]',
      '1:26: notify[0].on[0]: found "done"; allowed: question, task_failed, convoy_done, convoy_failed, budget, stuck',
    ],
    [
      'notify: [{ name: a, webhook: "https://me:secret@example.com" }]',
      '1:30: notify[0].webhook: found "https://me:secret@example.com"; allowed: an http or https address without a password, or $NAME, an environment variable that holds one',
    ],
    [
      'notify: [{ name: a, webhook: "https://example.com", secret: "s3cr-t" }]',
      '1:61: notify[0].secret: found "s3cr-t"; allowed: the name of an environment variable, such as ORCH_HOOK_SECRET',
    ],
    [
      'notify: [{ name: a, file: x, command: y }]',
      '1:10: notify[0]: found 2 of webhook, command and file; allowed: one of them',
    ],
    ['notify: [{ name: a }]', '1:10: notify[0]: found 0 of webhook, command and file; allowed: one of them'],
    [
      'notify: [{ name: a, file: x, secret: A }]',
      '1:10: notify[0]: found a secret without a webhook; allowed: only with a webhook',
    ],
    // The rest
    [
      'epic: ../x',
      '1:7: epic: found "../x"; allowed: an epic id (letters, digits, ".", "_" and "-", at most 64, starting with a letter or digit), or null',
    ],
    [
      'context: { critical: explode }',
      '1:22: context.critical: found "explode"; allowed: checkpoint, log, stop',
    ],
    [
      'context: { window: 2000001 }',
      '1:20: context.window: found 2000001; allowed: auto, or a whole number of tokens from 1000 to 2000000',
    ],
    [
      'redact: { patterns: ["(a"] }',
      '1:22: redact.patterns[0]: found "(a", which is invalid (Unterminated group); allowed: a JavaScript regular expression that does not match the empty string',
    ],
    [
      'redact: { patterns: ["a*"] }',
      '1:22: redact.patterns[0]: found "a*", which matches the empty string; allowed: a JavaScript regular expression that does not match the empty string',
    ],
    [
      'sync: { remote: --upload-pack=x }',
      '1:17: sync.remote: found "--upload-pack=x"; allowed: the name or address of a git remote',
    ],
    // YAML itself
    ['keep: 1\nkeep: 2', '2:1: not valid YAML: the key keep appears twice'],
    ['checkpoint:\n\tkeep: 5', '2:1: not valid YAML: Tabs are not allowed as indentation'],
    [
      'gates: [a',
      '1:10: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['a: b: c', '1:4: not valid YAML: Nested mappings are not allowed in compact mappings'],
    ['budget: 1\n---\nbudget: 2', '2:1: not valid YAML: a second document starts here; only one is allowed'],
    ['epic: !!js/function x', '1:7: not valid YAML: Unresolved tag: tag:yaml.org,2002:js/function'],
    [
      'epic: *nobody',
      '1:7: not valid YAML: Unresolved alias (the anchor must be set before the alias): nobody',
    ],
    ['- a', '1:1: found a list; allowed: keys and their values, such as "budget: 5"'],
    ['just words', '1:1: found "just words"; allowed: keys and their values, such as "budget: 5"'],
    ['[]', '1:1: found a list; allowed: keys and their values, such as "budget: 5"'],
  ])('%j', (text, message) => {
    expect(refusal(text)).toBe(message);
  });

  it('lists all of them in its data, in the order of the file', () => {
    expect(() => parse('sync: 5\ngates: 7\nbudget: x\n')).toThrow(
      expect.objectContaining({
        hint: 'Fix line 1 of config.yaml, then run the same command again',
        data: expect.objectContaining({
          file: 'config.yaml',
          line: 1,
          column: 7,
          key: 'sync',
          mistakes: [
            expect.objectContaining({ line: 1, key: 'sync' }),
            expect.objectContaining({ line: 2, key: 'gates' }),
            expect.objectContaining({ line: 3, key: 'budget' }),
          ],
        }),
      }),
    );
  });

  it('is shown where it stands, also through an alias', () => {
    expect(() => parse('prices:\n  a: &p { input: -1, output: 1 }\n  b: *p\n')).toThrow(
      expect.objectContaining({
        data: expect.objectContaining({
          mistakes: [
            expect.objectContaining({ line: 2, column: 18, key: 'prices.a.input' }),
            expect.objectContaining({ line: 2, column: 18, key: 'prices.b.input' }),
          ],
        }),
      }),
    );
  });

  it('is refused before it fills the memory', () => {
    const levels = Array.from({ length: 30 }, (_, n) => `a${n}: &a${n} [*a${n - 1}, *a${n - 1}, *a${n - 1}]`);
    const bomb = ['a: &a-1 [x, x, x]', ...levels].join('\n');
    expect(refusal(bomb)).toMatch(/^2:10: not valid YAML: Excessive alias count/);
  });

  it.each(['[', '{a: ', '- ', '? '])('is refused before %j repeated exhausts the stack', (opening) => {
    expect(refusal(opening.repeat(50_000))).toMatch(/^1:\d+: not valid YAML: nested too deeply$/);
  });

  it('is all that can happen, whatever the text', () => {
    const words = [
      'checkpoint:',
      'gates:',
      '\n',
      '  ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '5',
      'null',
      '"',
      ': ',
      '\t',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 3 }))), (parts) => {
        refusal(parts.join(''));
      }),
      { numRuns: 500 },
    );
  });
});
