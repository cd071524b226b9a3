import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { SecretLintRuleContext, SecretLintSourceCode } from '@secretlint/types';
import { isMadeUp } from './random-words.ts';
import type { FoundSecret } from './rules.ts';

/*
 * secretlint's recommended rules: a second opinion on texts that may contain a secret, loaded only for these. The rules
 * run without secretlint's core, which keeps a measurement of each run in memory.
 */

const skipped = [
  // The author of a text could switch the rules off in it.
  '@secretlint/secretlint-rule-filter-comments',
  // They report `user:pass@`; our own rule for addresses recognizes examples.
  '@secretlint/secretlint-rule-basicauth',
  '@secretlint/secretlint-rule-database-connection-string',
];

const usedRules = rules.filter(({ meta }) => !skipped.includes(meta.id));

/** Some of its ranges end too early, so each is extended to the end of the word. */
const restOfWord = /[A-Za-z0-9_+/=.~-]*/y;

/** Finds secrets with secretlint's rules. */
export async function runSecretlint(text: string): Promise<FoundSecret[]> {
  const found: FoundSecret[] = [];
  // The rules read nothing else of their source.
  const source = { content: text, ext: '', contentType: 'text' } as SecretLintSourceCode;
  for (const { meta, create } of usedRules) {
    const kind = meta.id.replace(/^.*secretlint-rule-/, '');
    await create(collectInto(found, kind, text), {}).file?.(source);
  }
  return found;
}

function collectInto(found: FoundSecret[], kind: string, text: string): SecretLintRuleContext {
  return {
    sharedOptions: {},
    // Only the places are needed, not the messages.
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
