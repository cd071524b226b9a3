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
      fc.nat({ max: length - needed.length }),
    )
    .map(([word, some, at]) => [...word.slice(0, at), ...some, ...word.slice(at + some.length)].join(''));
}

/** The parts one after the other; a text is itself. */
function join(...parts: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  return fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((all) => all.join(''));
}

const sets: Record<string, string> = {
  w: letters,
  h: hex,
  u: web,
  b: base64,
  d: digits,
  s: small + digits,
  C: capitals + digits,
};

/** From `pul-{h40}`: so many of a set of characters; `{uuid}` is one. */
function form(template: string): fc.Arbitrary<string> {
  const parts = template.split(/(\{(?:uuid|[a-zC][0-9]+)\})/).map((part) => {
    if (part === '{uuid}') return form('{h8}-{h4}-{h4}-{h4}-{h12}');
    const [, set = '', length = ''] = /^\{([a-zC])([0-9]+)\}$/.exec(part) ?? [];
    const made = set === '' ? part : of(sets[set] ?? '', Number(length));
    // A word that begins like the name of a digest is taken for one, and stays.
    return set === 'w' && typeof made !== 'string'
      ? made.filter((word) => !/^(?:pbkdf2|bcrypt|argon2|scrypt|sha[0-9]|md5)/i.test(word))
      : made;
  });
  return join(...parts);
}

/** As it is encoded. */
const encoded = (made: fc.Arbitrary<string>) => made.map((text) => Buffer.from(text).toString('base64'));

/** What to look for afterwards (the secret itself), and how it is written. */
export type Secret = { readonly kind: string; readonly secret: string; readonly text: string };

/** Those that are known only where nothing else is on their line. */
export const wholeLines: readonly string[] = [
  'password in a .pgpass',
  'a line of properties',
  'a plain line of YAML',
];

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
  Braintree: join('access_token$', 'production$', of(small + digits, 16), '$', of(hex, 32)),
  'private key': join(
    '-----BEGIN ',
    fc.constantFrom('', 'RSA ', 'EC ', 'OPENSSH '),
    'PRIVATE KEY-----\n',
    ...Array.from({ length: 12 }, () => join(of(base64, 64), '\n')),
    of(letters, 22),
    '==\n-----END PRIVATE KEY-----',
  ),
};

/** And those that one line says all about. */
const formed: Record<string, string> = {
  'GitLab, deploy': 'gldt-{u20}',
  'GitLab, runner': 'glrt-{u20}',
  'GitLab, trigger': 'glptt-{h40}',
  'GitLab, feed': 'glft-{u20}',
  'GitLab, mail': 'glimt-{w25}',
  'GitLab, agent': 'glagent-{u50}',
  'GitLab, job': 'glcbt-1a_{u20}',
  'GitLab, SCIM': 'glsoat-{u20}',
  Bitbucket: 'ATBB{w32}',
  'Bitbucket, repository': 'ATCTT3xFfGN0{u160}={C8}',
  Trello: 'ATTA{h64}',
  JFrog: 'AKCp8{w68}',
  'JFrog, reference': 'cmVmdGtuOjAxO{w51}',
  RubyGems: 'rubygems_{h48}',
  'crates.io': 'cio{w32}',
  NuGet: 'oy2{s43}',
  Clojars: 'CLOJARS_{h60}',
  'Docker, organization': 'dckr_oat_{w32}',
  Sourcegraph: 'sgp_{h16}_{h40}',
  Sonar: 'squ_{h40}',
  CircleCI: 'CCIPAT_{w22}_{h40}',
  Buildkite: 'bkua_{h40}',
  Harness: 'pat.{u22}.{h24}.{w20}',
  JetBrains: 'perm:{b12}.{b8}.{w30}',
  Octopus: 'API-{C26}',
  'Langfuse, secret': 'sk-lf-{uuid}',
  'OpenAI, service': 'sk-svcacct-{u60}T3BlbkFJ{u60}',
  Replicate: 'r8_{w37}',
  Perplexity: 'pplx-{w48}',
  NVIDIA: 'nvapi-{u64}',
  Cerebras: 'csk-{s48}',
  Fireworks: 'fw_{w24}',
  Together: 'tgp_v1_{u43}',
  LangSmith: 'lsv2_pt_{h32}_{h10}',
  Pinecone: 'pcsk_{w6}_{w63}',
  Voyage: 'pa-{u43}',
  Tavily: 'tvly-dev-{w32}',
  Firecrawl: 'fc-{h32}',
  ElevenLabs: 'sk_{h48}',
  'AWS, temporary': 'ASIA{C16}',
  'AWS session': 'IQoJb3JpZ2lu{b600}',
  'AWS Bedrock': 'ABSKQmVkcm9ja0FQSUtleS{b110}',
  'Amazon, login': 'amzn1.oa2-cs.v1.{h64}',
  'Amazon, marketplace': 'amzn.mws.{uuid}',
  'Google OAuth token': 'ya29.a0{u160}',
  'Google refresh token': '1//0{u60}',
  'Firebase messages': 'AAAA{u7}:APA91b{u134}',
  'Azure client secret': '{w3}8Q~{w34}',
  'Azure DevOps': '{w76}AZDO{w4}',
  'Azure Functions': '{w44}AzFu{w5}Q==',
  'Azure storage': '{w76}+ASt{w6}==',
  'Azure AI': '{w52}JQQJ99{w26}',
  Alibaba: 'LTAI{w20}',
  Tencent: 'AKID{w32}',
  Cloudflare: 'cfut_{w48}',
  'Cloudflare, origin': 'v1.0-{h24}-{h146}',
  Heroku: 'HRKU-AA{u58}',
  Netlify: 'nfp_{w36}',
  'Fly.io': 'fo1_{w43}',
  'Fly.io, macaroon': 'fm2_{b300}',
  Render: 'rnd_{w28}',
  Supabase: 'sbp_{h40}',
  'Supabase, secret': 'sb_secret_{u31}',
  'PlanetScale, token': 'pscale_tkn_{w43}',
  'PlanetScale, password': 'pscale_pw_{w43}',
  Neon: 'napi_{s64}',
  'Neon, password': 'npg_{w12}',
  'MongoDB Atlas': 'mdb_sa_sk_{w40}',
  'Deno Deploy': 'ddp_{w36}',
  OpenShift: 'sha256~{u43}',
  'Vault, batch': 'hvb.{u138}',
  Doppler: 'dp.pt.{w43}',
  'Doppler, service': 'dp.st.prd.{w43}',
  '1Password, service': 'ops_eyJ{w240}',
  '1Password, secret key': 'A3-{C6}-{C11}-{C5}-{C5}-{C5}',
  Pulumi: 'pul-{h40}',
  Tailscale: 'tskey-auth-{w17}-{w32}',
  age: 'AGE-SECRET-KEY-1{C58}',
  'Terraform Cloud': '{w14}.atlasv1.{w67}',
  'Stripe, restricted': 'rk_live_{w99}',
  'Stripe, webhook': 'whsec_{w32}',
  'Square, application': 'sq0csp-{u43}',
  'Square, access': 'EAAA{u60}',
  Plaid: 'access-production-{uuid}',
  EasyPost: 'EZAK{w54}',
  Shippo: 'shippo_live_{h40}',
  Flutterwave: 'FLWSECK-{h32}-X',
  Duffel: 'duffel_live_{u43}',
  Zoho: '1000.{h32}.{h32}',
  'Slack, user': 'xoxp-{d12}-{d12}-{d13}-{h32}',
  'Slack, refresh': 'xoxe-1-{w146}',
  'Discord bot': 'MTA{w23}.{u6}.{u38}',
  'Discord, two factors': 'mfa.{u84}',
  Mailgun: 'key-{h32}',
  Mailchimp: '{h32}-us21',
  Twilio: 'SK{h32}',
  Brevo: 'xkeysib-{h64}-{w16}',
  Resend: 're_{w8}_{w24}',
  Intercom: 'dG9rO{w54}=',
  Facebook: 'EAA{w160}',
  Airtable: 'pat{w14}.{h64}',
  HubSpot: 'pat-na1-{uuid}',
  Salesforce: '00D{w12}!AQ{w90}',
  Dropbox: 'sl.B{u135}',
  Contentful: 'CFPAT-{u43}',
  Sanity: 'sk{w150}',
  Mapbox: 'sk.eyJ{w70}.{w22}',
  Typeform: 'tfp_{w44}_{w14}',
  ClickUp: 'pk_{d8}_{C32}',
  Postman: 'PMAK-{h24}-{h34}',
  'Notion, old': 'secret_{w43}',
  ReadMe: 'rdme_{s70}',
  'Frame.io': 'fio-u-{u64}',
  Adafruit: 'aio_{w28}',
  'Grafana Cloud': 'glc_eyJ{w120}',
  'Sentry, organization': 'sntrys_eyJ{w150}_{w43}',
  'Sentry, user': 'sntryu_{h64}',
  'New Relic': 'NRAK-{C27}',
  Dynatrace: 'dt0c01.{C24}.{C64}',
  Honeycomb: 'hcaik_{s58}',
  Axiom: 'xaat-{uuid}',
  PostHog: 'phx_{w43}',
  LaunchDarkly: 'sdk-{uuid}',
  Statsig: 'secret-{w43}',
  Stytch: 'secret-live-{u36}',
  Prefect: 'pnu_{w36}',
  dbt: 'dbtc_{w40}',
  Inngest: 'signkey-prod-{h64}',
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
  'Slack webhook': ['https://hooks.slack.com/', form('services/T{C10}/B{C10}/{w24}'), ''],
  'Discord webhook': ['https://discord.com/api/webhooks/', form('{d19}/{u68}'), ''],
  'Teams webhook': [
    'https://shop.webhook.office.com/',
    form('webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}'),
    '',
  ],
  'Okta token': ['Authorization: SSWS ', form('00{u40}'), ''],
  'Azure storage key': ['AccountName=shop;AccountKey=', form('{b86}=='), ';EndpointSuffix=core.windows.net'],
  'Azure bus key': ['SharedAccessKeyName=Root;SharedAccessKey=', form('{b43}='), ''],
  'npm login': ['//registry.internal/:_auth=', encoded(form('me:{w20}')), ''],
  'Docker login': ['{"auths": {"r.internal": {"auth": "', encoded(form('me:{w20}')), '"}}}'],
  'Kubernetes key': [
    '    client-key-data: ',
    encoded(form('-----BEGIN EC PRIVATE KEY-----\n{b64}\n{b64}\n')),
    '',
  ],
  'Kubernetes token': ['    token: ', form('{w40}'), ''],
  'password in a short .netrc': ['machine git.internal login me password ', form('{w10}'), ''],
  'password in a .pgpass': ['db.internal:5432:shop:me:', form('{w14}'), ''],
  'JDBC, SQL Server': ['jdbc:sqlserver://db:1433;user=sa;password=', form('{w14}'), ';encrypt=true'],
  'JDBC, query': ['jdbc:postgresql://db/shop?user=me&password=', form('{w14}'), '&ssl=true'],
  'JDBC, Oracle': ['jdbc:oracle:thin:shop/', form('{w14}'), '@db:1521/shop'],
  'ADO.NET': ['Server=db;Database=shop;User Id=sa;Password=', form('{w12}!'), ';Encrypt=true'],
  ODBC: ['Driver={ODBC Driver 18};Server=db;Uid=sa;Pwd=', form('{w12}'), ';'],
  'Go, data source': ['shop:', form('{w14}'), '@tcp(db.internal:3306)/shop?parseTime=true'],
  'Redis address': ['redis://:', form('{w14}'), '@cache.internal:6379/0'],
  'MongoDB address': ['mongodb+srv://shop:', form('{w14}'), '@c0.ab1cd.mongodb.net/shop'],
  'AMQP address': ['amqps://shop:', form('{w14}'), '@mq.internal/shop'],
  'mysql -p': ['mysqldump -h db -u root -p', form('{w12}'), ' shop > shop.sql'],
  'sshpass -p': ['sshpass -p ', form('{w12}'), ' ssh me@host.internal'],
  'redis-cli -a': ['redis-cli -h cache -a ', form('{w12}'), ' ping'],
  'docker login -p': ['docker login -u me -p ', form('{w12}'), ' r.internal'],
  'sqlcmd -P': ['sqlcmd -S db -U sa -P ', form('{w12}'), ' -Q x'],
  'curl -u together': ['curl -uadmin:', form('{w14}'), ' https://api.internal'],
  '--password=': ['svn checkout --username me --password=', form('{w12}'), ' https://svn.internal'],
  keytool: ['keytool -list -keystore shop.jks -storepass ', form('{w12}'), ''],
  openssl: ['openssl rsa -in key.pem -passin pass:', form('{w12}'), ''],
  PGPASSWORD: ['PGPASSWORD=', form('{w12}'), ' psql -h db shop'],
  'Maven password': ['<server><id>shop</id><password>', form('{w12}'), '</password></server>'],
  'NuGet password': ['<add key="ClearTextPassword" value="', form('{w12}'), '" />'],
  'property list': ['<key>ApiToken</key><string>', form('{w12}'), '</string>'],
  'a line of properties': ['spring.datasource.password=', form('{w12}'), ''],
  'a plain line of YAML': ['    password: ', form('{w12}'), ''],
  'WireGuard key': ['PrivateKey = ', form('{b43}='), ''],
  'GCP service account': [
    '{"type": "service_account", "private_key": "',
    form('-----BEGIN PRIVATE KEY-----\\n{b64}\\n{b64}\\n{b64}\\n-----END PRIVATE KEY-----'),
    '\\n"}',
  ],
  'PuTTY key': ['Private-Lines: 2\n', form('{b64}\n{b43}='), '\nPrivate-MAC: 0'],
  'Cloudflare, old': ['CLOUDFLARE_API_TOKEN=', form('{u40}'), ''],
  'Auth0 client': ['AUTH0_CLIENT_SECRET=', form('{u64}'), ''],
  'Datadog key': ['DD_API_KEY=', form('{h32}'), ''],
  'AWS, session variable': ['export AWS_SESSION_TOKEN=', form('{b300}'), ''],
  'a key in hex': ['export ENCRYPTION_KEY=', of(hex, 64), ''],
};

const kinds: readonly fc.Arbitrary<Secret>[] = [
  ...Object.entries(bare).map(([kind, made]) => made.map((secret) => ({ kind, secret, text: secret }))),
  ...Object.entries(formed).map(([kind, template]) =>
    form(template).map((secret) => ({ kind, secret, text: secret })),
  ),
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

/** One of each kind that is known by its form alone, wherever it stands. */
export function formedSecrets(seed: number): Secret[] {
  return makeSecrets(seed).filter(({ kind }) => kind in bare || kind in formed);
}
