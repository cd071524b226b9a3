import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretLintRuleContext, SecretLintSourceCode } from '@secretlint/types';
import type { Found } from './known.ts';
import { isMadeUp } from './random-word.ts';

/*
 * secretlint's recommended rules: a second opinion on texts that may hold a secret, loaded only for these. The rules
 * are asked without secretlint's core, which keeps a measurement of each run for as long as the process lives.
 */

const unwanted = [
  // Whoever writes a text could switch the rules off in it.
  '@secretlint/secretlint-rule-filter-comments',
  // They take `user:pass@` for a secret; our own rule for addresses knows what stands in examples.
  '@secretlint/secretlint-rule-basicauth',
  '@secretlint/secretlint-rule-database-connection-string',
];

const wanted = rules.filter(({ meta }) => !unwanted.includes(meta.id));

/** Some of its ranges end too early: what is found reaches to the end of the word. */
const restOfWord = /[A-Za-z0-9_+/=.~-]*/y;

export async function findByLibrary(text: string): Promise<Found[]> {
  const found: Found[] = [];
  // A rule that scans reads no more of its source than this.
  const source = { content: text, ext: '', contentType: 'text' } as SecretLintSourceCode;
  for (const { meta, create } of wanted) {
    const kind = meta.id.replace(/^.*secretlint-rule-/, '');
    await create(collectInto(found, kind, text), {}).file?.(source);
  }
  return found;
}

function collectInto(found: Found[], kind: string, text: string): SecretLintRuleContext {
  return {
    sharedOptions: {},
    // What it has to say is not asked for, only where.
    createTranslator: () => (messageId) => ({ message: '', messageId: String(messageId), data: undefined }),
    report: ({ range: [start, end] }) => {
      restOfWord.lastIndex = end;
      const rest = restOfWord.exec(text)?.[0] ?? '';
      const one = { kind, start, end: end + rest.length };
      if (!isMadeUp(text.slice(one.start, one.end))) found.push(one);
    },
    ignore: () => {},
  };
}
