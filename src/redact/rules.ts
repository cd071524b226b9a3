/*
 * The secrets that are known by their form. Each rule is linear: it begins with a fixed word, and what follows is
 * bounded, because texts come from anybody.
 */

export type Rule = {
  /** What a reader is told stood there. */
  readonly kind: string;
  /** Finds it; global. Where the pattern has a group `secret`, only that is taken out. */
  readonly pattern: RegExp;
};

/** A token that begins with `start`, where no longer word only happens to have it inside. */
function startingWith(start: string, rest: string): RegExp {
  return new RegExp(`(?<![A-Za-z0-9_])(?:${start})${rest}`, 'g');
}

const pemHeading = '(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----';
const pemBreak = `\\s|\\\\[nr]|["'+,]`;

export const rules: readonly Rule[] = [
  {
    kind: 'private-key',
    pattern: new RegExp(
      `-----BEGIN ${pemHeading}(?:${pemBreak}|[A-Za-z-]{3,20}: [^\\n\\\\]{0,200}){0,40}` +
        `(?:[A-Za-z0-9+/=]{16,1000}(?:${pemBreak}){0,40}){1,1000}` +
        `(?:[A-Za-z0-9+/=]{1,16}(?:${pemBreak}){0,40}){0,2}(?:-----END ${pemHeading})?`,
      'g',
    ),
  },
  {
    kind: 'jwt',
    pattern: startingWith(
      'eyJ',
      '[A-Za-z0-9_-]{8,4000}\\.eyJ[A-Za-z0-9_-]{8,8000}(?:\\.[A-Za-z0-9_-]{8,2000})?',
    ),
  },
  { kind: 'github-token', pattern: startingWith('gh[pousr]_', '[A-Za-z0-9]{20,255}') },
  { kind: 'github-token', pattern: startingWith('github_pat_', '[A-Za-z0-9_]{20,255}') },
  {
    kind: 'gitlab-token',
    pattern: startingWith('gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|soat)-', '[A-Za-z0-9_.-]{18,300}'),
  },
  { kind: 'anthropic-key', pattern: startingWith('sk-ant-', '[A-Za-z0-9_-]{20,256}') },
  { kind: 'openrouter-key', pattern: startingWith('sk-or-v1-', '[0-9a-f]{32,128}') },
  {
    kind: 'openai-key',
    pattern: startingWith('(?<!-)sk-(?:proj|svcacct|admin|None)-', '[A-Za-z0-9_-]{20,256}'),
  },
  { kind: 'openai-key', pattern: startingWith('(?<!-)sk-', '[A-Za-z0-9]{20,128}') },
  { kind: 'xai-key', pattern: startingWith('xai-', '[A-Za-z0-9]{40,128}') },
  { kind: 'groq-key', pattern: startingWith('gsk_', '[A-Za-z0-9]{32,80}') },
  { kind: 'replicate-token', pattern: startingWith('r8_', '[A-Za-z0-9]{30,60}') },
  { kind: 'huggingface-token', pattern: startingWith('hf_', '[A-Za-z0-9]{30,60}') },
  { kind: 'aws-access-key', pattern: startingWith('AKIA|ASIA|ABIA|ACCA', '[A-Z0-9]{16}(?![A-Za-z0-9])') },
  { kind: 'google-api-key', pattern: startingWith('AIza', '[A-Za-z0-9_-]{30,64}') },
  { kind: 'google-oauth-secret', pattern: startingWith('GOCSPX-', '[A-Za-z0-9_-]{20,64}') },
  { kind: 'google-oauth-token', pattern: startingWith('ya29\\.', '[A-Za-z0-9_-]{20,2000}') },
  { kind: 'slack-token', pattern: startingWith('xox[abceoprs]-', '[A-Za-z0-9-]{10,255}') },
  { kind: 'slack-token', pattern: startingWith('xapp-', '[0-9]-[A-Za-z0-9-]{16,255}') },
  {
    kind: 'slack-webhook',
    pattern: /hooks\.slack\.com\/(?<secret>(?:services|workflows|triggers)\/[A-Za-z0-9/_-]{20,200})/g,
  },
  {
    kind: 'discord-webhook',
    pattern: /discord(?:app)?\.com\/api\/webhooks\/(?<secret>[0-9]{10,24}\/[A-Za-z0-9_-]{30,120})/g,
  },
  { kind: 'npm-token', pattern: startingWith('npm_', '[A-Za-z0-9]{30,100}') },
  { kind: 'pypi-token', pattern: startingWith('pypi-', 'AgE[A-Za-z0-9_-]{40,400}') },
  { kind: 'rubygems-key', pattern: startingWith('rubygems_', '[0-9a-f]{40,64}') },
  { kind: 'docker-token', pattern: startingWith('dckr_[a-z]{3}_', '[A-Za-z0-9_-]{20,80}') },
  { kind: 'stripe-key', pattern: startingWith('[sr]k_(?:live|test)_', '[A-Za-z0-9]{16,247}') },
  { kind: 'webhook-secret', pattern: startingWith('whsec_', '[A-Za-z0-9+/=]{24,128}') },
  { kind: 'square-secret', pattern: startingWith('sq0(?:atp|csp|idp)-', '[A-Za-z0-9_-]{20,64}') },
  { kind: 'shopify-token', pattern: startingWith('shp(?:at|ca|pa|ss)_', '[A-Fa-f0-9]{32,64}') },
  { kind: 'sendgrid-key', pattern: startingWith('SG\\.', '[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,64}') },
  { kind: 'mailgun-key', pattern: startingWith('(?<!-)key-', '[0-9a-f]{32}(?![A-Za-z0-9])') },
  { kind: 'twilio-key', pattern: startingWith('SK', '[0-9a-f]{32}(?![A-Za-z0-9])') },
  { kind: 'telegram-token', pattern: /(?<![A-Za-z0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g },
  { kind: 'digitalocean-token', pattern: startingWith('do[opr]_v1_', '[0-9a-f]{64}') },
  { kind: 'databricks-token', pattern: startingWith('dapi', '[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])') },
  { kind: 'figma-token', pattern: startingWith('fig[dr]_', '[A-Za-z0-9_-]{32,200}') },
  { kind: 'linear-key', pattern: startingWith('lin_(?:api|oauth)_', '[A-Za-z0-9]{32,128}') },
  { kind: 'notion-token', pattern: startingWith('ntn_', '[A-Za-z0-9]{40,60}') },
  { kind: 'grafana-token', pattern: startingWith('gl(?:c|sa)_', '[A-Za-z0-9+/_=]{32,400}') },
  { kind: 'vault-token', pattern: startingWith('hv[sbr]\\.', '[A-Za-z0-9_-]{24,300}') },
  { kind: 'vercel-token', pattern: startingWith('vc[piark]_', '[A-Za-z0-9]{24,60}') },
  { kind: '1password-token', pattern: startingWith('ops_ey', '[A-Za-z0-9+/=_-]{60,2000}') },
  { kind: 'atlassian-token', pattern: startingWith('AT[AC]TT3x', '[A-Za-z0-9_=-]{60,400}') },
  { kind: 'age-key', pattern: startingWith('AGE-SECRET-KEY-1', '[0-9A-Z]{40,64}') },
  { kind: 'azure-key', pattern: /AccountKey=(?<secret>[A-Za-z0-9+/]{40,120}={0,2})/g },
  // What was cut to a length is marked with `…`, and may be too short for the rules above.
  {
    kind: 'token',
    pattern: startingWith(
      'gh[pousr]_|github_pat_|glpat-|sk-(?:ant|proj|or)-|AKIA|AIza|xox[abceoprs]-|npm_|[sr]k_live_|hf_|eyJ',
      '[A-Za-z0-9_.-]{4,300}…',
    ),
  },
  { kind: 'npm-token', pattern: /_auth(?:Token)?=(?<secret>[A-Za-z0-9+/_=-]{16,400})/g },
];

const word = '[A-Za-z0-9]{9}';

/**
 * The beginnings of all of these, and of what the library knows: a text without any needs no closer look. It is one
 * pattern over every text there is, so it says no more than that.
 */
export const beginnings = new RegExp(
  [
    'PRIVATE KEY|eyJ[A-Za-z0-9_-]{8}',
    'gh[pousr]_|github_pat_|gl[a-z]{2,4}-|gl(?:c|sa)_',
    `(?<![A-Za-z0-9_-])sk-|xai-${word}|gsk_${word}|r8_${word}|hf_${word}`,
    'A(?:KIA|SIA|BIA|CCA)[A-Z0-9]|AIza|GOCSPX-|ya29\\.|AccountKey=|AGE-SECRET|AT[AC]TT3x',
    'xox[abceoprs]-|xapp-[0-9]|hooks\\.slack|api/webhooks/[0-9]|[0-9]{8}:AA',
    `npm_${word}|_auth(?:Token)?=|pypi-A|rubygems_|dckr_|"auths?"\\s*:`,
    '[sr]k_(?:live|test)_|whsec_|sq0[aci]|shp(?:at|ca|pa|ss)_',
    'SG\\.|key-[0-9a-f]{9}|SK[0-9a-f]{9}',
    `do[opr]_v1_|dapi[0-9a-f]{9}|fig[dr]_|lin_(?:api|oauth)_|ntn_${word}|hv[sbr]\\.|vc[piark]_${word}|ops_ey`,
    '://[^\\s/]{1,600}@',
  ].join('|'),
);
