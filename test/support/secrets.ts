import fc from 'fast-check';

/*
 * Secrets as their makers form them, made up at run time: none of them stands in a file of the repository.
 */

const small = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const capitals = small.toUpperCase();
const hex = `${digits}abcdef`;
const letters = small + capitals + digits;
const web = `${letters}-_`;
const base64 = `${letters}+/`;

/** A word of so many of these characters; with a letter, a capital and a digit somewhere, as nearly all have by chance. */
function of(characters: string, length: number): fc.Arbitrary<string> {
  const needed = [small, digits, ...(characters.includes('A') ? [capitals] : [])].filter((some) =>
    [...some].some((one) => characters.includes(one)),
  );
  const one = (some: string) => fc.constantFrom(...[...some].filter((each) => characters.includes(each)));
  return fc
    .tuple(
      fc.array(fc.constantFrom(...characters), { minLength: length, maxLength: length }),
      fc.tuple(...needed.map(one)),
      fc.nat({ max: length - needed.length - 1 }),
    )
    .map(([word, some, at]) => [...word.slice(0, at), ...some, ...word.slice(at + some.length)].join(''));
}

/** The parts one after the other; a text is itself. */
function join(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  return fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((all) => all.join(''));
}

/** What to look for afterwards (the secret itself), and how it is written. */
export type Secret = { readonly kind: string; readonly secret: string; readonly text: string };

const bare: Record<string, fc.Arbitrary<string>> = {
  'GitHub, classic': join('gh', fc.constantFrom(...'pousr'), '_', of(letters, 36)),
  'GitHub, fine-grained': join('github', '_pat_', of(letters, 22), '_', of(letters, 59)),
  GitLab: join('gl', 'pat-', of(web, 20)),
  Anthropic: join('sk-', 'ant-api03-', of(web, 93), 'AA'),
  'OpenAI, project': join('sk-', 'proj-', of(web, 74), 'T3Blbk', 'FJ', of(web, 74)),
  'OpenAI, old': join('sk-', of(letters, 20), 'T3Blbk', 'FJ', of(letters, 20)),
  OpenRouter: join('sk-', 'or-v1-', of(hex, 64)),
  Groq: join('gs', 'k_', of(letters, 52)),
  xAI: join('xa', 'i-', of(letters, 80)),
  'Hugging Face': join('h', 'f_', of(small + capitals, 34)),
  'AWS access key': join('AK', 'IA', of(`${capitals}234567`, 16)),
  'Google API key': join('AI', 'za', of(web, 35)),
  'Google OAuth secret': join('GOC', 'SPX-', of(web, 28)),
  'Slack bot': join('xo', 'xb-', of(digits, 12), '-', of(digits, 13), '-', of(letters, 24)),
  'Slack app': join('xa', 'pp-1-', of(capitals + digits, 11), '-', of(digits, 13), '-', of(hex, 64)),
  npm: join('np', 'm_', of(letters, 36)),
  PyPI: join('py', 'pi-AgE', 'IcHlwaS5vcmc', of(web, 120)),
  Docker: join('dc', 'kr_pat_', of(web, 27)),
  Stripe: join('sk', '_live_', of(letters, 24)),
  SendGrid: join('S', 'G.', of(web, 22), '.', of(web, 43)),
  Shopify: join('shp', 'at_', of(hex, 32)),
  DigitalOcean: join('do', 'p_v1_', of(hex, 64)),
  Databricks: join('da', 'pi', of(hex, 32)),
  Figma: join('fi', 'gd_', of(web, 43)),
  Linear: join('lin', '_api_', of(letters, 40)),
  Notion: join('nt', 'n_', of(digits, 11), of(letters, 35)),
  Vault: join('hv', 's.', of(web, 95)),
  Grafana: join('gl', 'sa_', of(letters, 32), '_', of(hex, 8)),
  Vercel: join('vc', 'p_', of(letters, 56)),
  Atlassian: join('AT', 'ATT3x', of(web, 180), '=', of(`${digits}ABCDEF`, 8)),
  Telegram: join(of(digits, 10), ':A', 'A', of(web, 33)),
  'JSON Web Token': join('ey', 'J', of(web, 33), '.ey', 'J', of(web, 120), '.', of(web, 43)),
  'private key': join(
    '-----BEGIN ',
    fc.constantFrom('', 'RSA ', 'EC ', 'OPENSSH '),
    'PRIVATE KEY-----\n',
    ...Array.from({ length: 12 }, () => join(of(base64, 64), '\n')),
    of(letters, 22),
    '==\n-----END PRIVATE KEY-----',
  ),
};

/** Secrets that are known by what stands around them: `before` and `after`, which stay. */
const named: Record<string, [before: string, secret: fc.Arbitrary<string>, after: string]> = {
  'password in an address': ['postgres://shop:', of(letters, 14), '@db.internal:5432/shop'],
  'password with an @ in an address': ['https://shop:p@', of(letters, 14), '@git.internal/shop.git'],
  'token in an address': ['https://', of(letters, 32), '@git.internal/shop.git'],
  'token in a query': ['https://api.internal/v1?access_token=', of(letters, 32), '&page=2'],
  'bearer token': ['curl -H "Authorization: Bearer ', of(letters, 40), '" https://api.internal'],
  'basic authorization': ['Authorization: Basic ', of(base64, 28), ''],
  'session in a cookie': ['Cookie: theme=dark; session=', of(letters, 40), '; path=/'],
  'session that is set': ['< set-cookie: sid=', of(web, 43), '; HttpOnly'],
  'token of an option': ['deploy --auth-token ', of(letters, 30), ' --now'],
  'password of a call': ['curl -u admin:', of(letters, 14), ' https://api.internal'],
  'password in a .netrc': ['machine git.internal login me password ', of(letters, 20), ''],
  'AWS secret key': ['aws_secret_access_key = ', of(base64, 40), ''],
  'a secret in the environment': ['SESSION_SECRET=', of(letters, 32), ''],
  'a key in JSON': ['{"api_key": "', of(letters, 32), '"}'],
  'a password in YAML': ['  password: "', of(letters, 16), '"'],
  'a key in hex': ['export ENCRYPTION_KEY=', of(hex, 64), ''],
};

const kinds: readonly fc.Arbitrary<Secret>[] = [
  ...Object.entries(bare).map(([kind, made]) => made.map((secret) => ({ kind, secret, text: secret }))),
  ...Object.entries(named).map(([kind, [before, made, after]]) =>
    made.map((secret) => ({ kind, secret, text: `${before}${secret}${after}` })),
  ),
];

/** One of each kind. */
export const oneOfEach: fc.Arbitrary<Secret[]> = fc.noShrink(fc.tuple(...kinds));
export const anySecret: fc.Arbitrary<Secret> = fc.noShrink(fc.oneof(...kinds));

/** One of each kind, made for this run. */
export function makeSecrets(seed: number): Secret[] {
  return fc.sample(oneOfEach, { seed, numRuns: 1 })[0] ?? [];
}
