import { plainText } from '../../../src/checkpoint/brief/brief-text.ts';
import { makeRedactor, presetRedactor } from '../../../src/redact/redactor.ts';
import { cleanLine, cleanText, columnsOf, cutBytes, cutColumns, cutToEnd } from '../../../src/text.ts';
import { must, mustBeShowable, type Target, type Verdict } from '../target.ts';

/** What secrets look like, put together here: no file of the repository holds anything like one. */
const word = ['hT7k', 'Q2mZ', '9x'].join('');
const samples = [
  `export AWS_SECRET_ACCESS_KEY=${word.repeat(4)}\naws_access_key_id = ${['AKIA', '2E0A8F3B244C9986'].join('')}\n`,
  `postgres://user:${word}@db.example.com:5432/app?sslmode=require\njdbc:mysql://h/db?user=a&password=${word}\n`,
  `{"auths":{"https://index.docker.io/v1/":{"auth":"${Buffer.from(`user:${word}`).toString('base64')}"}}}`,
  `machine example.com login me password ${word}\nlocalhost:5432:db:user:${word}\n`,
  `Server=tcp:x;Database=y;User Id=a;Password=${word};\nmysql -u root -p${word}\nsshpass -p ${word} ssh x\n`,
  `-----BEGIN RSA ${'PRIVATE'} KEY-----\nMIIE${word.repeat(5)}\n-----END RSA ${'PRIVATE'} KEY-----\n`,
  `Authorization: Bearer ${['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0In0', word.repeat(4)].join('.')}\n`,
  `<password>${word}</password>\n<add key="ApiKey" value="${word}${word}"/>\n`,
  `const token = "${word.repeat(2)}"; // api_key: ${word.repeat(2)}\n`,
  'nothing secret here, just a long line of words that says what was done and why\n',
  `${'a'.repeat(50)}=${'b'.repeat(50)}:${'c'.repeat(50)}@${'d'.repeat(50)}/${'e'.repeat(50)}`,
].map((text) => Buffer.from(text));

const redaction: Target = {
  name: 'redaction',
  form: 'text',
  samples,
  run: async (input): Promise<Verdict> => {
    const text = input.toString('utf8');
    const clean = await presetRedactor.redact(text);
    must(typeof clean === 'string', 'a text stays a text');
    must((await presetRedactor.redact(clean)) === clean, 'what is clean stays as it is');
    presetRedactor.redactAtOnce(text);
    const found = await presetRedactor.findSecret(input);
    return found === null ? 'refused' : 'accepted';
  },
};

const ownPatterns = makeRedactor({ presets: true, patterns: ['ACME-[0-9]{8}', 'x*', '(?<=a)b'] });

const patterns: Target = {
  name: 'own patterns',
  form: 'text',
  samples,
  run: async (input): Promise<Verdict> => {
    await (await ownPatterns).redact(input.toString('utf8').slice(0, 20_000));
    return 'accepted';
  },
};

const text: Target = {
  name: 'text',
  form: 'text',
  samples: [...samples, Buffer.from('Grüße, 界 🚀\u0301 \u001b[31m\u202e a\r\nb\u2028c\u0000')],
  run: (input, random) => {
    const given = input.toString('utf8');
    const bytes = 4 + random.int(500);
    // What would be markup gets a backslash each.
    for (const [clean, most] of [
      [cleanText(given, bytes), bytes],
      [cleanLine(given, bytes), bytes],
      [plainText(given, bytes), 2 * bytes + 1],
    ] as const) {
      must(Buffer.byteLength(clean) <= most, `a text of ${Buffer.byteLength(clean)} bytes, not ${most}`);
      mustBeShowable(clean, 'a clean text');
    }
    must(!/[\n\r]/.test(cleanLine(given)), 'a line is one line');
    must(
      cleanText(cleanText(given, bytes), bytes) === cleanText(given, bytes),
      'what is clean stays as it is',
    );
    must(Buffer.byteLength(cutBytes(given, bytes)) <= bytes, 'what is cut is short enough');
    must(Buffer.byteLength(cutToEnd(given, bytes)) <= bytes, 'so is its end');
    must(columnsOf(cutColumns(given, bytes)) <= bytes, 'and what is shown');
    return 'accepted';
  },
};

export const redactionTargets: readonly Target[] = [redaction, patterns, text];
