import { isPassword, isPlaceholder, isRandomWord } from './random-words.ts';
import type { FoundSecret } from './rules.ts';

/*
 * Passwords recognized by where they are: in a command line, an address, a connection string, or a file made to hold
 * them.
 */

type Place = {
  readonly kind: string;
  /** The slow pattern is only tried if this matches. */
  readonly needs?: RegExp;
  /** Global; its group `value` is the password. */
  readonly pattern: RegExp;
  readonly isSecret: (value: string, groups: Readonly<Record<string, string | undefined>>) => boolean;
};

const isSecretWord = (value: string) => isRandomWord(value) || isPassword(value);

/** Is this base64 of `user:password`? If it decodes to something else, it must at least look random. */
export function isLogin(value: string): boolean {
  const decoded = Buffer.from(value, 'base64').toString('latin1');
  const { password } = /^[\x21-\x7e]{1,200}?:(?<password>[\x20-\x7e]{1,4000})$/.exec(decoded)?.groups ?? {};
  if (password === undefined) return isRandomWord(value);
  return password.length >= 4 && !isPlaceholder(password);
}

/** Decodes base64 if the result is printable. */
function decodePrintable(value: string): string | null {
  if (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return null;
  const decoded = Buffer.from(value, 'base64').toString('latin1');
  return /^[\x20-\x7e]+$/.test(decoded) ? decoded : null;
}

const places: readonly Place[] = [
  {
    // `--token …`, `login me password …`: a space separates the name and the value.
    kind: 'token',
    pattern:
      /(?:--(?:[a-z0-9]{1,20}-){0,4}(?:token|secret|passw(?:or)?d|passphrase|(?:api|access|private|auth|signing|encryption|master|secret)-key)|\blogin[ \t]{1,4}\S{1,100}\s{1,8}password)[ \t]{1,4}["'`]?(?<value>[A-Za-z0-9+/_=.~!#%^*@:-]{8,1000})/gi,
    isSecret: isRandomWord,
  },
  {
    // .netrc
    kind: 'password',
    pattern:
      /\b(?:machine[ \t]{1,8}\S{1,200}|default)\s{1,8}login[ \t]{1,8}\S{1,200}\s{1,8}(?:account[ \t]{1,8}\S{1,200}\s{1,8})?password[ \t]{1,8}(?<value>[^\s"'`\\]{1,300})/g,
    isSecret: isSecretWord,
  },
  {
    // .pgpass: host:port:database:user:password
    kind: 'password',
    pattern:
      /^(?:[A-Za-z0-9_.-]{1,200}|\*):(?:[0-9]{3,5}|\*):[A-Za-z0-9_.*-]{1,100}:[A-Za-z_*][A-Za-z0-9_.-]{0,100}:(?<value>\S{1,300})$/gm,
    isSecret: isSecretWord,
  },
  {
    kind: 'password',
    pattern:
      /(?:[ \t]-u[ \t]{1,2}|--(?:proxy-)?user[= \t])["'`]?(?<user>[^\s:"'`$/]{1,100}):(?<value>[^\s"'`$:]{8,300})/g,
    isSecret: (value, { user }) => value !== user && isSecretWord(value),
  },
  {
    kind: 'password',
    pattern:
      /\b(?:curl|wget|http)[ \t][^\n|;]{0,400}?(?<=[ \t])-u["'`]?(?<user>[^\s:"'`$/]{1,100}):(?<value>[^\s"'`$:]{8,300})/g,
    isSecret: (value, { user }) => value !== user && isSecretWord(value),
  },
  {
    // The password is part of the option: `mysql -pSECRET`, `7z a -pSECRET`.
    kind: 'password',
    pattern:
      /\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|mariadb-admin|7za?|rar|unrar)[ \t][^\n|;]{0,400}?(?<=[ \t])-p["'`]?(?<value>[^\s"'`$]{6,300})/g,
    isSecret: isSecretWord,
  },
  {
    // Or it follows it: `sshpass -p SECRET`, `redis-cli -a SECRET`.
    kind: 'password',
    pattern:
      /\b(?:(?:sshpass|docker login|podman login|helm registry login|az login|mongosh?|mongodump|ftp|zip|unzip|sqlcmd|bcp|ldapsearch|ldapmodify|plink|pscp|redis-cli|ipmitool)[ \t])[^\n|;]{0,400}?(?<=[ \t])(?:-p|-P|-a|-w|-pw|--pass|-storepass)(?:[ \t]{1,4}|=)?["'`]?(?<value>[^\s"'`$-][^\s"'`$]{5,300})/g,
    isSecret: isSecretWord,
  },
  {
    // `--password=SECRET`, `-storepass SECRET`, `-passin pass:SECRET`
    kind: 'password',
    pattern:
      /[ \t](?:--(?:[a-z0-9]{1,20}-){0,3}pass(?:word|wd)?[= \t]|-(?:store|key)pass[ \t]|-pass(?:in|out)?[ \t]pass:)["'`]?(?<value>[^\s"'`$<>{}()[\],;-][^\s"'`$<>{}()[\],;]{7,300})/g,
    isSecret: isSecretWord,
  },
  {
    // `user:SECRET@tcp(host:3306)/shop`, as in Go.
    kind: 'password',
    needs: /@(?:tcp|unix|udp)\(/,
    pattern:
      /(?<![A-Za-z0-9_.-])(?<user>[A-Za-z0-9_.-]{1,60}):(?<value>[^\s"'`@<>{}$]{4,300})@(?:tcp|unix|udp)\(/g,
    isSecret: (value, { user }) => value !== user && !isPlaceholder(value) && !/^[a-z]{1,12}$/.test(value),
  },
  {
    // Connection strings: `Server=…;Password=SECRET;`. No part can contain its own end, which would make matching slow.
    kind: 'password',
    pattern:
      /(?:\b(?:server|data source|host|driver|dsn|addr|address|endpoint|port|database|initial catalog|catalog|uid|user|user ?id|username|accountname|authsource)[ \t]{0,4}=[^;\n]{0,200};|jdbc:[^\s;?&"']{2,340}[;?&])(?:[^;&\n]{0,200}[;&]){0,10}?[ \t]{0,4}(?:password|pwd)[ \t]{0,4}=[ \t]{0,4}(?<value>[^;&\s"'`<>]{1,300})/gi,
    isSecret: isSecretWord,
  },
  {
    // `jdbc:oracle:thin:user/SECRET@host`
    kind: 'password',
    pattern: /jdbc:oracle:[a-z0-9]{2,8}:(?<user>[A-Za-z0-9_]{1,60})\/(?<value>[^\s"'`@/<>${}]{4,100})@/gi,
    isSecret: (value, { user }) => value !== user && !isPlaceholder(value),
  },
  {
    // `<password>SECRET</password>`, as in Maven.
    kind: 'password',
    pattern:
      /<(?<tag>[A-Za-z0-9_.:-]{0,40}(?:password|passwd|passphrase|secret|token|api-?key|(?:private|access|secret)-?key))(?:\s[^<>]{0,200})?>\s{0,40}(?<value>[^<>\s]{6,1000})\s{0,40}<\/\k<tag>>/gi,
    isSecret: isSecretWord,
  },
  {
    // `<add key="ClearTextPassword" value="SECRET" />`, as in NuGet.
    kind: 'password',
    pattern:
      /<[A-Za-z:]{1,40}[ \t\r\n]{1,20}(?:key|name)="[^"<>]{0,80}(?:password|passwd|secret|token|api-?key)"[ \t\r\n]{1,40}value="(?<value>[^"<>\s]{6,1000})"/gi,
    isSecret: isSecretWord,
  },
  {
    // `<key>password</key><string>SECRET</string>`, in a property list.
    kind: 'password',
    pattern:
      /<key>[^<>]{0,80}(?:password|passwd|secret|token|api_?-?key)<\/key>\s{0,40}<string>(?<value>[^<>\s]{6,1000})<\/string>/gi,
    isSecret: isSecretWord,
  },
  {
    // Docker's `auths`
    kind: 'password',
    pattern: /\\?"auth\\?"\s{0,8}:\s{0,8}\\?"(?<value>[A-Za-z0-9+/_=-]{8,4000})/g,
    isSecret: isLogin,
  },
  {
    // Kubernetes' config
    kind: 'private-key',
    pattern: /\bclient-key-data["']?:[ \t]{0,4}["']?(?<value>[A-Za-z0-9+/=]{40,20000})/g,
    isSecret: isRandomWord,
  },
  {
    // A line of a settings file with nothing else on it.
    kind: 'password',
    pattern:
      /^[ \t]{0,40}(?:- )?(?:export |set |env |ENV )?[A-Za-z0-9_.-]{0,100}(?:password|passwd|pwd)(?:[ \t]{0,8}=[ \t]{0,8}|:[ \t]{1,8})(?<value>[^\s"'`$(){}<>[\],;]{8,300})[ \t]{0,8}$/gim,
    isSecret: (value) =>
      isSecretWord(value) && isSecretWord(decodePrintable(value) ?? value) && !/^[a-z_.]+[!?]$/i.test(value),
  },
];

/**
 * `scheme://user:password@host`, or a token as the user without a password. The host is a lookahead, because the next
 * address may follow without a space.
 */
const address =
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/(?<user>[^\s/?#@:"'`<>\\]{0,300})(?::(?<password>[^\s/?#"'`<>\\]{1,300}))?@(?=(?<host>[A-Za-z0-9[][A-Za-z0-9.:_-]{0,200}))/gi;

function findInAddresses(text: string): FoundSecret[] {
  if (!text.includes('://')) return []; // much faster than the pattern, and usually true
  const found: FoundSecret[] = [];
  for (const { 0: whole, index, groups = {} } of text.matchAll(address)) {
    const { user = '', password, host = '' } = groups;
    const end = index + whole.length - 1;
    const isToken = isRandomWord(user) && !/%[0-9a-f]{2}/i.test(user);
    if (password === undefined) {
      if (isToken) found.push({ kind: 'token', start: end - user.length, end });
      continue;
    }
    // `https://TOKEN:x-oauth-basic@…`
    if (isToken) found.push({ kind: 'token', start: end - password.length - 1 - user.length, end });
    else if (password !== user && isPasswordFor(host, password))
      found.push({ kind: 'password', start: end - password.length, end });
  }
  return found;
}

/** Hosts of examples and of local machines. */
const harmlessHost =
  /^(?:[A-Za-z0-9_-]+|(?:.*\.)?(?:example|host|hostname|server|domain|somewhere)\.[a-z]+|.*\.(?:example|test|invalid|local|localhost)|(?:127|10|192\.168|172\.\d+)\.[\d.]+|0\.0\.0\.0)\.?(?::[0-9A-Za-z_]*)?$/i;

function isPasswordFor(host: string, password: string): boolean {
  const plain = password.replace(/%[0-9a-f]{2}|;.*$|[@:]/gi, '');
  if (password.length < 4 || isPlaceholder(password) || isPlaceholder(plain)) return false;
  return !(harmlessHost.test(host) && /^[a-z]{0,12}$/.test(plain));
}

/** Finds passwords by where they are. */
export function findLogins(text: string): FoundSecret[] {
  return [
    ...findInAddresses(text),
    ...places.flatMap(({ kind, needs, pattern, isSecret }) =>
      [...(needs?.test(text) === false ? [] : text.matchAll(pattern))].flatMap(
        ({ 0: whole, index, groups = {} }) => {
          const { value = '' } = groups;
          if (!isSecret(value, groups)) return [];
          const start = index + whole.lastIndexOf(value);
          return [{ kind, start, end: start + value.length }];
        },
      ),
    ),
  ];
}
