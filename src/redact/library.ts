import { lintSource } from '@secretlint/core';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import type { Found } from './known.ts';

/*
 * secretlint's recommended rules: a second opinion on texts that may hold a secret. Loaded only for these.
 */

const unwanted = [
  // Whoever writes a text could switch the rules off in it.
  '@secretlint/secretlint-rule-filter-comments',
  // They take `user:pass@` for a secret; our own rule for addresses knows what stands in examples.
  '@secretlint/secretlint-rule-basicauth',
  '@secretlint/secretlint-rule-database-connection-string',
];

const wanted = rules
  .filter(({ meta }) => !unwanted.includes(meta.id))
  .map((rule) => ({ id: rule.meta.id, rule }));

/** Some of its ranges end too early: what is found reaches to the end of the word. */
const restOfWord = /[A-Za-z0-9_+/=.~-]*/y;

export async function findByLibrary(text: string): Promise<Found[]> {
  const { messages } = await lintSource({
    source: { content: text, filePath: 'text', ext: '', contentType: 'text' },
    options: { config: { rules: wanted }, noPhysicFilePath: true },
  });
  return messages.map(({ ruleId, range: [start, end] }) => {
    restOfWord.lastIndex = end;
    const rest = restOfWord.exec(text)?.[0] ?? '';
    return { kind: ruleId.replace(/^.*secretlint-rule-/, ''), start, end: end + rest.length };
  });
}
