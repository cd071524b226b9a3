import { tokens } from './token-forms.ts';

/*
 * Secrets with a known form: how each starts, and what follows. Lengths are bounded, because the texts are untrusted and
 * must not make a pattern slow.
 */

export type Form = {
  /** What the placeholder says was there. */
  readonly kind: string;
  /** It starts with one of these words, or contains one if `before` describes what precedes it. */
  readonly starts: readonly string[];
  /** Matches from that word on; sticky. If it has a group `secret`, only that is removed. */
  readonly pattern: RegExp;
  /** Matches the part before the word, against the end of the preceding text. */
  readonly before?: RegExp;
  /** Also matches in the middle of a longer word. */
  readonly matchesInsideWords?: boolean;
  /** Decides about forms that other things have too. */
  readonly isSecret?: (found: string) => boolean;
};

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const end = '(?![A-Za-z0-9])';

const pemHeading = '(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----';
const pemBreak = `\\s|\\\\[nr]|["'+,]`;

function word(pattern: string): RegExp {
  return new RegExp(pattern, 'y');
}

/** A private key encoded in base64 as a whole. */
function isEncodedKey(found: string): boolean {
  return Buffer.from(found.slice(0, 64), 'base64').includes('PRIVATE KEY');
}

export const forms: readonly Form[] = [
  {
    kind: 'private-key',
    starts: ['-----BEGIN '],
    matchesInsideWords: true,
    isSecret: (found) => !/X{16}/.test(found),
    pattern: word(
      `-----BEGIN ${pemHeading}(?:${pemBreak}|[A-Za-z-]{3,20}: [^\\n\\\\]{0,200}){0,40}` +
        `(?:[A-Za-z0-9+/=]{16,1000}(?:${pemBreak}){0,40}){1,1000}` +
        `(?:[A-Za-z0-9+/=]{1,16}(?:${pemBreak}){0,40}){0,2}(?:-----END ${pemHeading})?`,
    ),
  },
  {
    kind: 'private-key',
    starts: ['LS0tLS1CRUdJTi'],
    pattern: word('[A-Za-z0-9+/=]{60,20000}'),
    isSecret: isEncodedKey,
  },
  {
    kind: 'private-key', // PuTTY's
    starts: ['Private-Lines:'],
    pattern: word(
      `Private-Lines: [0-9]{1,3}(?:\\s|\\\\[nr]){1,4}(?<secret>(?:[A-Za-z0-9+/=]{16,64}(?:\\s|\\\\[nr]){0,4}){1,200})`,
    ),
  },
  ...tokens.map(([kind, starts, rest]) => ({ kind, ...startingWith(starts.split(' '), rest) })),
  {
    kind: 'telegram-token',
    starts: [':AA'],
    before: /(?<![A-Za-z0-9])[0-9]{8,10}$/,
    pattern: word(':AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])'),
  },
  {
    kind: 'azure-client-secret',
    starts: ['Q~'],
    before: /(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}[0-9]$/,
    pattern: word('Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])'),
  },
  {
    kind: 'azure-devops-token',
    starts: ['AZDO'],
    before: /(?<![A-Za-z0-9])[A-Za-z0-9]{70,80}$/,
    pattern: word(`AZDO[A-Za-z0-9]{4}${end}`),
  },
  {
    kind: 'azure-key',
    starts: ['AzFu', 'AzSe', 'AzCa', 'ACDb', '+ASt', '+AEh', '+ARm', 'JQQJ99'],
    before: /(?<![A-Za-z0-9+/])[A-Za-z0-9+/_-]{40,80}$/,
    pattern: word(`(?:Az(?:Fu|Se|Ca)|ACDb|\\+A(?:St|Eh|Rm)|JQQJ99)[A-Za-z0-9+/_-]{4,40}={0,2}${end}`),
  },
  {
    kind: 'terraform-token',
    starts: ['.atlasv1.'],
    before: /(?<![A-Za-z0-9])[A-Za-z0-9]{14}$/,
    pattern: word(`\\.atlasv1\\.[A-Za-z0-9_=-]{60,70}`),
  },
  {
    kind: 'mailchimp-key',
    starts: ['-us'],
    before: /(?<![A-Za-z0-9])[0-9a-f]{32}$/,
    pattern: word(`-us[0-9]{1,2}${end}`),
  },
  {
    kind: 'slack-webhook',
    starts: ['hooks.slack.com/'],
    pattern: word('hooks\\.slack\\.com/(?<secret>(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,200})'),
  },
  {
    kind: 'discord-webhook',
    starts: ['discord.com/api/', 'discordapp.com/api/'],
    pattern: word(
      'discord(?:app)?\\.com/api/(?:v[0-9]{1,2}/)?webhooks/(?<secret>[0-9]{10,24}/[A-Za-z0-9_-]{30,120})',
    ),
  },
  {
    kind: 'teams-webhook',
    starts: ['webhook.office.com/'],
    pattern: word(
      `webhook\\.office\\.com/(?<secret>webhookb2/${uuid}@${uuid}/IncomingWebhook/[A-Za-z0-9/-]{32,200})`,
    ),
  },
  {
    kind: 'zapier-webhook',
    starts: ['hooks.zapier.com/'],
    pattern: word('hooks\\.zapier\\.com/hooks/catch/(?<secret>[0-9]{4,12}/[A-Za-z0-9]{5,20})'),
  },
  {
    kind: 'npm-token',
    starts: ['_auth=', '_authToken=', '_password='],
    matchesInsideWords: true,
    pattern: word('_(?:auth(?:Token)?|password)=(?<secret>[A-Za-z0-9+/_=-]{16,400})'),
  },
];

function startingWith(starts: readonly string[], rest: string): Pick<Form, 'starts' | 'pattern'> {
  const escaped = starts.map((start) => start.replace(/[.$+/]/g, '\\$&'));
  return { starts, pattern: word(`(?:${escaped.join('|')})${rest}`) };
}

/** A truncated text ends with `…`, and a token in it may be too short for its form. */
export const cutForm: Form = {
  kind: 'token',
  ...startingWith(
    'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- sk-ant- sk-proj- sk-or- AKIA AIza xoxa- xoxb- xoxp- xoxs- npm_ sk_live_ rk_live_ hf_ eyJ'.split(
      ' ',
    ),
    '[A-Za-z0-9_.-]{4,300}…',
  ),
};
