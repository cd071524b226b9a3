/* Which words look made by chance, as keys are, and which were made by people. */

/** What stands in examples where a secret would. */
const placeholder =
  /^(?:x+|\*+|\.+|<.*|\$.*|%.*|\{.*|\[.*|.*(?:example|placeholder|change[-_]?me|redacted|your[-_]).*|pass(?:word|wd)?[0-9]{0,4}|user(?:name)?|secret|token|key|admin|root|guest|postgres|mysql|none|null|undefined|true|false|string|git)$/i;

/** `my-secret-key`, `a_token`. What a key merely begins with by chance, or what is put before one, is no such word. */
const described = /^(?:your|my|the|some|a|test|dummy|fake|sample)[-_](?<what>.*)$/i;

export function isPlaceholder(word: string): boolean {
  const what = described.exec(word)?.groups?.what;
  return placeholder.test(word) || (what !== undefined && !isRandomWord(what));
}

/** Long, of letters and digits in no order a person would write. */
export function isRandomWord(word: string): boolean {
  if (word.length < 16 || isPlaceholder(word)) return false;
  if (!/[0-9]/.test(word) || !/[A-Za-z]/.test(word)) return false;
  if (/^[0-9a-f]+$/i.test(word)) return word.length >= 24 && entropyOf(word) > 2.5;
  if (looksLikePath(word) || looksWritten(word)) return false;
  return entropyOf(word) > 3.2 && countChanges(word) >= word.length / 7;
}

/** Good enough for a password that somebody made up: not only letters, and no word of an example. */
export function isPassword(word: string): boolean {
  if (word.length < 8 || isPlaceholder(word) || /^[~.]*\/.*\//.test(word)) return false;
  return /[0-9!#%^&*]/.test(word) && /[A-Za-z]/.test(word);
}

/** `src/redact/rules.ts`, `https://…`, `./a/b`: names of files, each part of which a person would write. */
function looksLikePath(word: string): boolean {
  const parts = word.split(/[/.]/).filter((part) => part !== '');
  return parts.length > 2 && parts.every((part) => part.length < 16 && countChanges(part) < part.length / 3);
}

/** `prod-db-credentials-v2`: words and numbers, one after the other. */
function looksWritten(word: string): boolean {
  const parts = word.split(/[-_.:/]+/).filter((part) => part !== '');
  return (
    parts.length > 1 &&
    parts.every((part) => /^(?:[A-Za-z]?[a-z]{1,14}[0-9]{0,2}|[A-Z]{2,14}|[0-9]{1,8})$/.test(part))
  );
}

/** In bits a character. */
function entropyOf(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}

/** How often a small letter, a capital, a digit and a sign follow one another; `Word` counts no change. */
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
