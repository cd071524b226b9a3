import { describe, expect, it } from 'vitest';
import { cleanFacts } from '../../src/record/clean-facts.ts';
import { findCut, openRedactedStream } from '../../src/redact/redacted-stream.ts';
import { makeRedactor, presetRedactor } from '../../src/redact/redactor.ts';
import { runSecretlint } from '../../src/redact/secretlint.ts';
import { makeSecrets } from '../support/secrets.ts';

const secrets = new Map(makeSecrets(1).map((one) => [one.kind, one]));
const secretOf = (kind: string) => secrets.get(kind)?.secret ?? '';
const textOf = (kind: string) => secrets.get(kind)?.text ?? '';
const { redact, findSecret } = presetRedactor;

describe('what is taken out', () => {
  it.each<[text: string, clean: string]>([
    [`use ${secretOf('GitHub, classic')} now`, 'use [redacted: github-token] now'],
    [textOf('private key'), '[redacted: private-key]'],
    [JSON.stringify({ key: textOf('private key') }), '{"key":"[redacted: private-key]"}'],
    [textOf('password in an address'), 'postgres://shop:[redacted: password]@db.internal:5432/shop'],
    [textOf('token in a query'), 'https://api.internal/v1?access_token=[redacted: token]&page=2'],
    [textOf('bearer token'), 'curl -H "Authorization: Bearer [redacted: bearer-token]" https://api.internal'],
    [textOf('a secret in the environment'), 'SESSION_SECRET=[redacted: secret]'],
    [JSON.stringify(textOf('a key in JSON')), '"{\\"api_key\\": \\"[redacted: key]\\"}"'],
    [`${secretOf('GitHub, classic').slice(0, 12)}…`, '[redacted: token]'],
    // As some begin by chance, and as people name them.
    [`API_KEY=a_${secretOf('a secret in the environment')}`, 'API_KEY=[redacted: key]'],
    [`token: test-${secretOf('a secret in the environment')}`, 'token: [redacted: token]'],
  ])('is named: %#', async (text, clean) => {
    expect(await redact(text)).toBe(clean);
    expect(presetRedactor.redactAtOnce(text)).toBe(clean);
    expect(await redact(clean)).toBe(clean);
  });

  it.each([
    'https://user:password@example.com/ and postgres://postgres:postgres@localhost/test',
    'https://$USER:$PASSWORD@example.com, https://<user>:<password>@host',
    'password: string; token = readToken(file); const apiKey = process.env.API_KEY;',
    'API_KEY=your-api-key-here-1234567890 and SECRET=changeme12345678901',
    'max_tokens: 123456789012345678, tokens=1234567890123456',
    'the key begins with -----BEGIN PRIVATE KEY----- and ends with a line of its own',
    'Bearer tokens are sent in the Authorization header',
    'a task-list, a disk-usage report and sk-something short',
    'refresh_token_expires_at: 2026-11-16T18:28:41.000Z',
    'PWD=/home/somebody/code/shop2 OLDPWD=/tmp/a1b2/c3d4e5f6g7h8 pwd: "~/shop2/src"',
    "resetPassword: '/auth/reset-password/v2', secret: prod-db-credentials-v2, token = 'hello-world-12345'",
    'Bearer token-based-authentication-v2; docker run -u 1000:1000 --password-stdin --token-file /run/t1/token',
    'add --public-key AAAAC3NzaC1lZDI1NTE5 --cache-key npm7f3a9c1e5b2d8f4a6 -unknown:somevalue1 -u 1000:1000',
    'withCredentials: defaultToConfig2, clientSecret: AUTH_AZURE_AD_B2C_CLIENT_SECRET, cancelToken: readToken2',
    'Authorization: Digest username="me", realm="shop", Credential=keyId/20300101/region/s3/aws4_request',
    'Authorization: Basic dXNlcjpwYXNz and {"auth": "dXNlcjpwYXNzd29yZA=="}',
    'postgresql://scott:tiger@localhost/test mysql://root:whalehello@db:3306/shop http://user:pass%20word@example.com',
    'git push origin -u stable/5.2.x:stable/5.2.x; mysql -pPassword1 shop; sshpass -p $PASSWORD ssh me@host',
    'AKIAIOSFODNN7EXAMPLE, xoxb-1234-abcdefgh, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, sk-proj-your-key-goes-here-1',
    `password: '\${{ secrets.PASSWORD1 }}', "password": "pbkdf2_sha256$1000$x", password = 'superS3cret'`,
    'Server=db;User Id=sa;Password=yourStrong(!)Password; jdbc:oracle:thin:scott/tiger@db:1521/xe',
    `<password>\${env.PASSWORD_1}</password> <password>{COQLCE6DU6GtcS5P=}</password> <add key="Password" value="%PASS1%" />`,
    'machine example.com login daniel password qwerty\nuser:password@tcp(localhost:3306)/shop\n  password: changeit1',
    'src/redact.ts:120:error:found: x\npassword = fetch_password!\npassword: cXVvYnl0ZQ==\n',
    'git push --set-upstream origin feature-2 && npm run build --key value --token $TOKEN1234567890abcdef',
  ])('is no word of an ordinary text: %s', async (text) => {
    expect(await redact(text)).toBe(text);
  });

  it.each<[text: string, clean: string]>([
    [`{"log":"done\\n${secretOf('npm')}"}`, '{"log":"done\\n[redacted: npm-token]"}'],
    [`\u001b[31m${secretOf('GitLab')}\u001b[0m`, '\u001b[31m[redacted: gitlab-token]\u001b[0m'],
    [`?next=%2F${secretOf('Pulumi')}`, '?next=%2F[redacted: pulumi-token]'],
    [textOf('Discord webhook'), 'https://discord.com/api/webhooks/[redacted: discord-webhook]'],
    [textOf('Go, data source'), 'shop:[redacted: password]@tcp(db.internal:3306)/shop?parseTime=true'],
    [textOf('ADO.NET'), 'Server=db;Database=shop;User Id=sa;Password=[redacted: password];Encrypt=true'],
    [textOf('mysql -p'), 'mysqldump -h db -u root -p[redacted: password] shop > shop.sql'],
    [textOf('Maven password'), '<server><id>shop</id><password>[redacted: password]</password></server>'],
    [textOf('PuTTY key'), 'Private-Lines: 2\n[redacted: private-key]Private-MAC: 0'],
  ])('is only the secret, wherever a program wrote it: %#', async (text, clean) => {
    expect(await redact(text)).toBe(clean);
    expect(await redact(clean)).toBe(clean);
  });

  it('is looked for in large files, piece by piece', async () => {
    const bytes = Buffer.alloc(10_000_000, Buffer.from('\0\u0001some bytes of a program\0'));
    expect(await findSecret(bytes)).toBeNull();
    bytes.write(secretOf('npm'), 4 * 1024 * 1024 - 20, 'latin1'); // across the border of two pieces
    expect(await findSecret(bytes)).toBe('npm-token');
  });

  it('is found where what cannot be seen stands in it, and before a text is cut', async () => {
    const secret = secretOf('Anthropic');
    const hidden = `${secret.slice(0, 9)}\u200b${secret.slice(9)}`;
    const long = `${'x '.repeat(2_030)}${secret}`;
    const [one, other] = await cleanFacts(
      [
        { kind: 'note', id: 'n-1', text: hidden },
        { kind: 'note', id: 'n-2', text: long },
      ],
      redact,
    );
    expect(one).toMatchObject({ text: '[redacted: anthropic-key]' });
    expect(JSON.stringify(other)).not.toContain(secret.slice(0, 12));
    expect(JSON.stringify(other)).toContain('[redacted');
  });

  it('is not looked for in what is never kept of a text, however long that is', async () => {
    const seen: number[] = [];
    const look = async (text: string) => {
      seen.push(text.length);
      return redact(text);
    };
    const text = `${secretOf('npm')} ${'word '.repeat(10_000_000)}`;
    const [fact] = await cleanFacts([{ kind: 'note', id: 'n', text }], look);
    expect(JSON.stringify(fact)).toContain('[redacted: npm-token] word');
    expect(Math.max(...seen)).toBeLessThan(2_000_000);
  });

  it('is found in the names of fields too', async () => {
    const key = secretOf('npm');
    const [fact] = await cleanFacts(
      [{ kind: 'current_set', key: 'resumptionState', value: { [key]: 1 } }],
      redact,
    );
    expect(fact).toMatchObject({ value: { '[redacted: npm-token]': 1 } });
  });

  it('ends also for a text made to be slow', async () => {
    const texts = ['-----BEGIN PRIVATE KEY-----', 'password=', 'a://', 'eyJ', 'Bearer ', 'sk-ant-', 'A: b\n'];
    for (const text of texts) {
      // A pattern that backtracks would take longer than any test may.
      presetRedactor.redactAtOnce(text.repeat(20_000));
      presetRedactor.redactAtOnce(`${text}${'a1B2'.repeat(50_000)}`);
    }
  });
});

describe('the library', () => {
  it('is heard where it knows more', async () => {
    const text = textOf('AWS secret key');
    const found = await runSecretlint(`${text}\n${secretOf('Slack bot')}`);
    expect(found.map(({ kind }) => kind).sort()).toEqual(['aws', 'slack']);
    // Its own range ends in the middle of the key.
    expect(text.slice(found[0]?.start, found[0]?.end)).toBe(text);
  });

  it('cannot be switched off by who writes the text', async () => {
    const found = await runSecretlint(`// secretlint-disable\n${secretOf('Slack bot')}`);
    expect(found).toHaveLength(1);
  });
});

describe("the user's patterns", () => {
  it('are applied besides the presets, or alone', async () => {
    const token = secretOf('GitHub, classic');
    const text = `ACME-12345678 and ${token}`;
    const both = await makeRedactor({ presets: true, patterns: ['ACME-[0-9]{8}'] });
    expect(await both.redact(text)).toBe('[redacted: pattern] and [redacted: github-token]');
    const alone = await makeRedactor({ presets: false, patterns: ['ACME-[0-9]{8}', 'nothing'] });
    expect(await alone.redact(text)).toBe(`[redacted: pattern] and ${token}`);
    expect(await alone.findSecret(text)).toBe('pattern');
    expect(await alone.findSecret(token)).toBeNull();
  });

  it('change nothing when applied again, whatever they match', async () => {
    for (const pattern of ['redacted', '.+', '[a-z]+', 'r.*']) {
      const redactor = await makeRedactor({ presets: true, patterns: [pattern] });
      const once = await redactor.redact(`secret: red ${secretOf('npm')}\nred`);
      expect(await redactor.redact(once), pattern).toBe(once);
    }
  });

  it('hold nobody up: what cannot be checked in time is not kept', async () => {
    const slow = await makeRedactor({ presets: true, patterns: ['(a+)+$'] });
    const text = `${'a'.repeat(40)}b`;
    expect(await slow.redact(text)).toBe('[redacted: pattern took too long]');
    expect(slow.redactAtOnce(text)).toBe('[redacted: pattern took too long]');
    expect(await slow.findSecret(text)).toBe('pattern took too long');
    expect(await slow.redact('aaa')).toBe('[redacted: pattern]');
  });
});

describe('a stream', () => {
  it('is passed on in whole lines, and a private key only when it is whole', async () => {
    const key = secretOf('private key');
    const got: string[] = [];
    const stream = openRedactedStream(redact, (text) => got.push(text));
    stream.add('one\ntw');
    stream.add(`o\n${key.slice(0, 200)}\n`);
    stream.add(`${key.slice(200)}\nafter`);
    await stream.end();
    expect(got.join('')).toBe('one\ntwo\n[redacted: private-key]\nafter');
  });

  it('takes no longer for a line that comes character by character', async () => {
    let [kept, looked] = [0, 0];
    const count: typeof redact = async (text) => {
      looked += text.length;
      return redact(text);
    };
    const stream = openRedactedStream(count, (text) => {
      kept += text.length;
    });
    for (let printed = 0; printed < 200_000; printed++) stream.add('.');
    await stream.end();
    expect(kept).toBe(200_000);
    expect(looked, 'each character is looked at a few times, not once for each that follows').toBeLessThan(
      2_000_000,
    );
  });

  it('holds no more back than it must', () => {
    expect(findCut('one\ntwo')).toBe(4);
    expect(findCut('one two')).toBe(0);
    expect(findCut('a log: Private-Lines: 2\nabc\n')).toBe(7);
    const line = `${'word '.repeat(20_000)}half`;
    expect(findCut(line)).toBe(line.length - 4);
    const word = 'x'.repeat(100_000);
    expect(findCut(word)).toBeGreaterThan(90_000);
    expect(findCut(`-----BEGIN PRIVATE KEY-----\n${'text\n'.repeat(10_000)}`)).toBeGreaterThan(40_000);
  });

  it('says what is missing where it could not be looked at', async () => {
    const got: string[] = [];
    const stream = openRedactedStream(
      () => Promise.reject(new Error('no config')),
      (text) => got.push(text),
    );
    stream.add('one\n');
    await stream.end();
    expect(got).toEqual(['… 4 bytes left out: no config\n']);
  });
});

describe('a kind', () => {
  it('is told of a text that holds a secret, and of no other', async () => {
    expect(await findSecret(textOf('GitHub, classic'))).toBe('github-token');
    expect(await findSecret('nothing')).toBeNull();
  });
});
