import { epicRef } from '../checkpoint/tree.ts';
import { OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { presetRedactor, type Redact } from '../redact.ts';
import { isFact } from '../state/fact-check.ts';
import type { Fact } from '../state/facts.ts';
import { maxPayloadBytes } from '../state/run.ts';
import { cleanText, cutMiddle, maxTextBytes } from '../text.ts';
import type { EpicId } from '../types.ts';

/** More than any fact needs; a caller that has more to say says it in several. */
const maxFactBytes = 64 * 1024;

/** Refuses facts from outside that are not of the right shape. */
export async function checkFacts(facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const { findFactProblem } = await import('../state/fact-shape.ts');
  for (const [index, fact] of facts.entries()) {
    const problem = findFactProblem(fact);
    if (problem !== null) throw refused(index, problem);
  }
}

/** Facts as they are kept: their texts clean, bounded, and without what must not be kept. */
export async function cleanFacts(facts: readonly Fact[], redact: Redact): Promise<Fact[]> {
  const clean = await Promise.all(
    facts.map(async (fact) => {
      const longest = fact.kind === 'effect' ? maxPayloadBytes : maxTextBytes;
      return (await cleanTexts(fact, redact, longest)) as Fact; // only texts change, and they stay texts
    }),
  );
  for (const [index, fact] of clean.entries()) {
    const bytes = Buffer.byteLength(JSON.stringify(fact));
    if (bytes > maxFactBytes)
      throw refused(index, `it takes ${bytes} bytes, at most ${maxFactBytes} can be recorded at once`);
    // What no clone would read must not get into a journal: it could never be saved.
    if (!isFact(fact))
      throw refused(index, 'it has a name that is empty or too long, or a value of the wrong kind');
  }
  return clean;
}

async function cleanTexts(value: unknown, redact: Redact, longest: number): Promise<unknown> {
  if (typeof value === 'string') return cleanSecretText(value, redact, longest);
  if (Array.isArray(value)) return Promise.all(value.map((part) => cleanTexts(part, redact, longest)));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(async ([key, part]) => [
    await redact(key),
    await cleanTexts(part, redact, longest),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** So much of a text is looked at; nothing behind it can get into what is kept, whatever is taken out before. */
const maxLookedAt = 256 * maxTextBytes;

/** What cannot be seen is gone before the look, or it would hide a secret; the cut comes after, or it would halve one. */
export async function cleanSecretText(text: string, redact: Redact, longest = maxTextBytes): Promise<string> {
  const clean = cleanText(text.slice(0, maxLookedAt), Number.POSITIVE_INFINITY);
  return cutMiddle(await redact(clean), longest);
}

/** Is a secret in a name? It cannot be kept in part, so it is not taken at all. */
export function holdsSecret(name: string): boolean {
  return presetRedactor.redactAtOnce(name) !== name;
}

/** Refuses a new epic whose name is a secret, before anything is written that has the name. */
export async function refuseSecretName({ git }: { readonly git: GitEngine }, epic: EpicId): Promise<void> {
  if (!holdsSecret(epic) || (await git.readRef(epicRef(epic))) !== null) return;
  throw new OrchError(
    'EPIC_ID_INVALID',
    'this epic id looks like a secret, and would stand in every checkpoint',
    { hint: 'Nothing was written. Try --epic my-feature' },
  );
}

function refused(index: number, problem: string): OrchError {
  return new OrchError('USAGE', `fact ${index + 1} cannot be recorded: ${problem}`, {
    hint: 'Say it in fewer words, or in several records; programs find what a fact has at the type Fact',
    data: { index },
  });
}
