/* Tells random words, such as keys, from words that people write. */

/** What examples have in place of a secret. */
const placeholder =
  /^(?:x+|\*+|\.+|<.*|\\?\$.*|%.*|\{.*|\[.*|&.*|.*(?:example|placeholder|change[-_]?(?:me|it)|redacted|your[-_]).*|your.*pass.*|user(?:name)?|admin|root|guest|postgres|mysql|none|null|undefined|true|false|string|git|tiger|foobar|letmein|qwerty)$/i;

/** `my-secret-key`, `a_token`. If what follows is random, it is not a placeholder. */
const described = /^(?:your|my|the|some|a|test|dummy|fake|sample)[-_](?<what>.*)$/i;

/** `secret`, `mypass`, `superS3cret`, `admin123`, `Passwordtest1`: what people type when any word will do. */
const commonPassword =
  /^[0-9]{0,3}(?:(?:my|bad|good|test|some|user|db|super|sooper|top|very|new|old|other|strong|root|admin|default|wrong|valid|invalid|correct|temp|dev|local)[-_.]?){0,3}(?:secret|pass(?:word|wd|phrase)?|pwd|token|key|admin|test|root)[-_.]?(?:test|word|admin)?[-_]?[0-9]{0,6}[!]?$/i;

const lookalikes: Record<string, string> = { 0: 'o', 1: 'l', 3: 'e', 4: 'a', 5: 's', '@': 'a', $: 's' };

/** Is this obviously not a real secret? */
export function isPlaceholder(word: string): boolean {
  const what = described.exec(word)?.groups?.what;
  if (placeholder.test(word) || isCommonPassword(word)) return true;
  return what !== undefined && !isRandomWord(what);
}

function isCommonPassword(word: string): boolean {
  if (word.length > 30) return false;
  const [, body = '', digits = ''] = /^(.*?)([0-9]*)$/s.exec(word) ?? [];
  const plain = body.replace(/[01345@$]/g, (one) => lookalikes[one] ?? one);
  return commonPassword.test(word) || commonPassword.test(`${plain}${digits}`);
}

/** True for a fake that has the form of a secret: `AKIA…EXAMPLE`, `xxxxxxxx`, `abcdefgh1234`, `test-key-value`. */
export function isMadeUp(word: string): boolean {
  if (/example|placeholder|change[-_]?me|redacted|your[-_]|x{6}|0{8}|\*{3}/i.test(word)) return true;
  return entropyOf(word) < 2.3 || countSteps(word) > word.length / 2 || looksWritten(word);
}

/** Counts pairs of consecutive letters or digits, such as `ab` and `12`. */
function countSteps(word: string): number {
  let steps = 0;
  for (let at = 1; at < word.length; at++) if (word.charCodeAt(at) - word.charCodeAt(at - 1) === 1) steps++;
  return steps;
}

/** True for a long mix of letters and digits that no person would write. */
export function isRandomWord(word: string): boolean {
  if (word.length < 16 || isPlaceholder(word)) return false;
  if (!/[0-9]/.test(word) || !/[A-Za-z]/.test(word)) return false;
  if (/^[0-9a-f]+$/i.test(word)) return word.length >= 24 && entropyOf(word) > 2.5;
  if (looksLikePath(word) || looksWritten(word) || isVariable(word)) return false;
  return (
    entropyOf(word) > 3.2 && countChanges(word) >= word.length / 7 && countSteps(word) <= word.length / 2
  );
}

/** `pbkdf2_sha256$…`: the hash of a password, not the password. */
const passwordHash = /^(?:pbkdf2|bcrypt|argon2|scrypt|sha[0-9]|md5)/i;

/** May a person have made up this password? It has more than letters, and is not an example. */
export function isPassword(word: string): boolean {
  if (word.length < 8 || isPlaceholder(word) || isVariable(word) || passwordHash.test(word)) return false;
  if (/^[~.]*\/.*\//.test(word) || countSteps(word) > word.length / 2) return false;
  return /[0-9!#%^&*]/.test(word) && /[A-Za-z]/.test(word);
}

/** `defaultToConfig2`, `CLIENT_SECRET_2`: names of variables. */
function isVariable(word: string): boolean {
  return /^(?:[a-z]{2,20}(?:[A-Z][a-z]{1,20}){1,8}|[A-Z]{1,20}(?:_[A-Z0-9]{1,20}){1,10})[0-9]{0,2}$/.test(
    word,
  );
}

const uuid = /(?:^|\/)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\//;

/** `src/redact/rules.ts`, `https://…`, `./a/b`: paths whose every part a person would write. */
function looksLikePath(word: string): boolean {
  const parts = word.split(/[/.]/).filter((part) => part !== '');
  if (parts.length > 3 && uuid.test(word)) return true;
  return parts.length > 2 && parts.every((part) => part.length < 16 && countChanges(part) < part.length / 3);
}

/** `prod-db-credentials-v2`: words and numbers. */
function looksWritten(word: string): boolean {
  const parts = word.split(/[-_.:/]+/).filter((part) => part !== '');
  return (
    parts.length > 1 &&
    parts.every((part) => /^(?:[A-Za-z]?[a-z]{1,14}[0-9]{0,2}|[A-Z]{2,14}|[0-9]{1,8})$/.test(part))
  );
}

/** In bits per character. */
function entropyOf(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}

/** Counts changes between lower case, upper case, digits and signs; the capital of `Word` does not count. */
function countChanges(word: string): number {
  const kinds = [...word].map((character) =>
    /[a-z]/.test(character)
      ? 'small'
      : /[A-Z]/.test(character)
        ? 'capital'
        : /[0-9]/.test(character)
          ? 'digit'
          : 'sign',
  );
  return kinds.filter((kind, index) => {
    const before = kinds[index - 1];
    return before !== undefined && before !== kind && !(before === 'capital' && kind === 'small');
  }).length;
}
