import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openRedactedStream } from '../../src/redact/redacted-stream.ts';
import { presetRedactor } from '../../src/redact/redactor.ts';
import { anySecret, makeSecrets, oneOfEach, wholeLines } from '../support/secrets.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { redact, findSecret } = presetRedactor;

const words = fc.array(
  fc.constantFrom('the', 'login', 'form', 'is done;', 'tests: 141/142,', 'see src/cli/main.ts', 'key'),
  {
    minLength: 1,
    maxLength: 6,
  },
);
const plain = words.map((some) => some.join(' '));

describe('a secret', () => {
  it('of every kind is taken out of a text, and the text around it stays', async () => {
    await fc.assert(
      fc.asyncProperty(oneOfEach, plain, plain, async (secrets, before, after) => {
        expect(new Set(secrets.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(200);
        for (const { kind, secret, text } of secrets) {
          const clean = await redact(`${before}\n${text}\n${after}`);
          expect(clean, kind).not.toContain(secret);
          expect(clean, kind).toMatch(/\[redacted: [a-z0-9 -]+\]/);
          expect(clean.startsWith(before) && clean.endsWith(after), kind).toBe(true);
          expect(await findSecret(text), kind).not.toBeNull();
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is taken out once: doing it again changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            plain,
            anySecret.map(({ text }) => text),
          ),
          { maxLength: 6 },
        ),
        async (parts) => {
          const once = await redact(parts.join('\n'));
          expect(await redact(once)).toBe(once);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not get through a stream, wherever that is cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        anySecret,
        plain,
        fc.array(fc.nat({ max: 3_000 }), { maxLength: 6 }),
        async (one, before, cuts) => {
          const line = wholeLines.includes(one.kind) ? one.text : `${before} ${one.text} ${before}`;
          const whole = `${before}\n${line}\n${before}`;
          let kept = '';
          const stream = openRedactedStream(redact, (text) => {
            kept += text;
          });
          let at = 0;
          for (const cut of cuts.map((each) => each % whole.length).sort((a, b) => a - b)) {
            stream.add(whole.slice(at, cut));
            at = cut;
          }
          stream.add(whole.slice(at));
          await stream.end();
          expect(kept, one.kind).not.toContain(one.secret);
          expect(kept.startsWith(`${before}\n`) && kept.endsWith(`\n${before}`)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('what is no secret stays', () => {
  const word = (characters: string, length: number) =>
    fc
      .array(fc.constantFrom(...characters), { minLength: length, maxLength: length })
      .map((some) => some.join(''));
  const hex = '0123456789abcdef';
  const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

  it.each<[what: string, made: fc.Arbitrary<string>]>([
    ['a commit', word(hex, 40)],
    ['a SHA-256', word(hex, 64)],
    ['a UUID', fc.uuid()],
    ['a checkpoint', word('abcdefghijklmnopqrstuvwxyz0123456789', 6).map((id) => `ckpt-00000058-${id}`)],
    ['a session', word('abcdefghijklmnopqrstuvwxyz0123456789', 6).map((id) => `sess-${id}`)],
    ['the integrity of a package', word(base64, 86).map((sum) => `"integrity": "sha512-${sum}=="`)],
    ['an image', word(base64, 200).map((data) => `data:image/png;base64,${data}`)],
    ['an address', fc.webUrl({ withQueryParameters: true })],
    ['a mail address', fc.emailAddress()],
    [
      'a path',
      fc
        .array(word('abcdefghijklmnopqrstuvwxyz-', 8), { minLength: 2, maxLength: 6 })
        .map((all) => all.join('/')),
    ],
    ['a time', fc.date({ noInvalidDate: true }).map((date) => date.toISOString())],
    [
      'a clone address',
      plain.map(() => 'git@github.com:someone/something.git ssh://git@github.com/someone/something'),
    ],
  ])('%s', async (_, made) => {
    await fc.assert(
      fc.asyncProperty(made, plain, async (some, around) => {
        const text = `${around} ${some} ${around}`;
        expect(await redact(text)).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  it('the files of this repository', async () => {
    const names = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
    const texts = names.filter((name) => /\.(ts|js|mjs|cjs|md|json|jsonl|yaml|toml)$/.test(name));
    expect(texts.length).toBeGreaterThan(300);
    const changed: string[] = [];
    for (const name of texts) {
      const text = readFileSync(join(root, name), 'utf8');
      if ((await redact(text)) !== text) changed.push(name);
    }
    expect(changed).toEqual([]);
  });
});

describe('the secrets of the tests', () => {
  it('are made from a seed', () => {
    expect(makeSecrets(1)).toEqual(makeSecrets(1));
    expect(makeSecrets(1)).not.toEqual(makeSecrets(2));
  });
});
