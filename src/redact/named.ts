import { findLogins, isLogin } from './logins.ts';
import { isPassword, isPlaceholder, isRandomWord } from './random-words.ts';
import type { FoundSecret } from './rules.ts';

/* Secrets recognized by what precedes them: a name, a header, an address. */

/** A telling name with a value. The value may be quoted, even as JSON inside JSON. */
const named =
  /(?<name>(?:secret|token|passw(?:or)?d|passphrase|pwd|api[_-]?key|(?:access|private|auth|signing|encryption|master|secret)[_-]?key(?:[_-]?base)?|credentials?)(?:_?[0-9]{1,3})?)\\?["'`]?[ \t]{0,20}(?:=>|:=|[:=])[ \t]{0,20}(?<quote>(?:\\?["'`])?)(?<value>(?:[A-Za-z0-9+/_=.~!#%^*@:-]|&(?![A-Za-z_-]{1,40}=)){8,1000})/gi;

/** `options.token2` */
const program = /^[A-Za-z_][A-Za-z0-9_]{0,60}(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}){1,8}$/;

/** `export DB_PASSWORD=…`: program variables are not written like that. */
const capitals = /^[A-Z0-9_]+$/;

function findNamed(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(named)) {
    const { name = '', quote = '', value: taken = '' } = match.groups ?? {};
    const end = match.index + match[0].length;
    const value = taken.replace(/[.:]+$/, '');
    // `token = readToken(…)`, `token: Tokens<…>`: source code, not a value.
    if (quote === '' && (/[([<{]/.test(text[end] ?? '') || program.test(value))) continue;
    if (value.includes('://') || isFolder(name, value) || isScope(name, value)) continue;
    const kind = kindOf(name);
    const mayBeShort = kind === 'password' && (quote !== '' || capitals.test(name));
    if (!isRandomWord(value) && !(mayBeShort && isPassword(value))) continue;
    found.push({ kind, start: end - taken.length, end: end - taken.length + value.length });
  }
  return found;
}

/** `PWD=/home/me/shop2` is a folder. */
function isFolder(name: string, value: string): boolean {
  return /^pwd$/i.test(name) && /^(?:~|\.{1,2})?\//.test(value);
}

/** `Credential=ID/20300101/region/service/aws4_request` is the scope of a signature. */
function isScope(name: string, value: string): boolean {
  return /^credential$/i.test(name) && value.endsWith('_request');
}

function kindOf(name: string): string {
  if (/^pass|^pwd/i.test(name)) return 'password';
  return /token|secret/i.exec(name)?.[0].toLowerCase() ?? 'key';
}

/** `Bearer …`, and `Authorization: Basic …`. */
const header =
  /(?:\bBearer[ \t]{1,4}(?<bearer>[A-Za-z0-9+/_=.~-]{16,4000})|\bAuthorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?<scheme>Basic|Token|ApiKey)[ \t]{1,4}(?<other>[A-Za-z0-9+/_=.~:-]{8,4000}))/gi;

function findHeaders(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const { 0: whole, index, groups = {} } of text.matchAll(header)) {
    const { bearer, other, scheme } = groups;
    const value = bearer ?? other ?? '';
    const isBasic = scheme?.toLowerCase() === 'basic';
    if (bearer !== undefined ? !isRandomWord(value) : isBasic ? !isLogin(value) : isPlaceholder(value))
      continue;
    const end = index + whole.length;
    found.push({
      kind: bearer === undefined ? 'authorization' : 'bearer-token',
      start: end - value.length,
      end,
    });
  }
  return found;
}

/** `Cookie: theme=dark; session=…` */
const jar = /\bCookie["']?:[ \t]{0,4}["']?(?<pairs>[^\r\n"'\\]{16,8000})/gi;
const pair = /=(?<value>[A-Za-z0-9+/_=.~%:-]{16,4000})/g;

function findCookies(text: string): FoundSecret[] {
  return [...text.matchAll(jar)].flatMap(({ 0: whole, index, groups = {} }) => {
    const { pairs = '' } = groups;
    const from = index + whole.length - pairs.length;
    return [...pairs.matchAll(pair)].flatMap(({ 0: found, index: at }) => {
      const start = from + at + 1;
      const value = found.slice(1);
      return isRandomWord(value) ? [{ kind: 'cookie', start, end: start + value.length }] : [];
    });
  });
}

/** `?access_token=…` */
const query =
  /[?&;](?:[a-z_-]{0,40}(?:token|secret|passw(?:or)?d|api_?key)|key|auth|sig|signature|x-amz-signature|x-amz-security-token|code)=(?<value>[A-Za-z0-9+/_=.~%-]{12,4000})/gi;

function findInQueries(text: string): FoundSecret[] {
  return [...text.matchAll(query)].flatMap(({ 0: whole, index, groups = {} }) => {
    const { value = '' } = groups;
    const end = index + whole.length;
    return isRandomWord(value) ? [{ kind: 'token', start: end - value.length, end }] : [];
  });
}

/** Quickly rules out texts that contain none of these and no login. */
export const mayContainNamed =
  /(?:secret|token|passw(?:or)?d|passphrase|pwd|key(?:[_-]?base)?|credentials?|sig|signature|auth|code|client-key-data)(?:_?[0-9]{1,3})?\\?["'`]?[ \t]{0,20}[:=>]|--[a-z][a-z0-9-]{0,60}[ \t]|\bpassword(?:[ \t]|"[ \t])|[ \t]-(?:[uapPw]|(?:store|key)pass)|\bcookie["']?:|\bbearer[ \t]|\bauthorization|:\/\/[^\s/]{1,600}@|@(?:tcp|unix)\(|:(?:[0-9]{3,5}|\*):|jdbc:oracle/i;

/** Finds secrets by what precedes them. */
export function findNamedSecrets(text: string): FoundSecret[] {
  return [findNamed, findHeaders, findCookies, findInQueries, findLogins].flatMap((find) => find(text));
}
