import { epicRef } from '../checkpoint/document/names-in-git.ts';
import { OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { presetRedactor, type Redact } from '../redact/redactor.ts';
import { isFact } from '../state/fact-check.ts';
import type { Fact } from '../state/facts.ts';
import { maxPayloadBytes } from '../state/runs.ts';
import { cleanText, cutMiddle, maxTextBytes } from '../text.ts';
import type { EpicId } from '../types.ts';

/** More than any fact needs; longer content must be split. */
const maxFactBytes = 64 * 1024;

/** Refuses facts from outside that have the wrong shape. */
export async function checkFacts(facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const { findFactProblem } = await import('../state/fact-shape.ts');
  for (const [index, fact] of facts.entries()) {
    const problem = findFactProblem(fact);
    if (problem !== null) throw refused(index, problem);
  }
}

/** Cleans, redacts and bounds the texts of facts. */
export async function cleanFacts(facts: readonly Fact[], redact: Redact): Promise<Fact[]> {
  const clean = await Promise.all(
    facts.map(async (fact) => {
      const longest = fact.kind === 'effect' || fact.kind === 'task' ? maxPayloadBytes : maxTextBytes;
      return (await cleanTexts(fact, redact, longest)) as Fact; // only texts change, and they stay texts
    }),
  );
  for (const [index, fact] of clean.entries()) {
    const bytes = Buffer.byteLength(JSON.stringify(fact));
    if (bytes > maxFactBytes)
      throw refused(index, `it takes ${bytes} bytes, and at most ${maxFactBytes} can be recorded at once`);
    // A fact that no clone would read must not get into a journal: it could never be saved.
    if (!isFact(fact)) throw refused(index, 'a name is empty or too long, or a value has the wrong type');
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

/** How much of a text is examined: nothing after it can get into the kept part, whatever is redacted before. */
const maxLookedAt = 256 * maxTextBytes;

/** Invisible characters are removed before redaction, or they could hide a secret; the cut comes after, or it could halve one. */
export async function cleanSecretText(text: string, redact: Redact, longest = maxTextBytes): Promise<string> {
  const clean = cleanText(text.slice(0, maxLookedAt), Number.POSITIVE_INFINITY);
  return cutMiddle(await redact(clean), longest);
}

/** Does a name contain a secret? A name cannot be redacted, so such a name is refused. */
export function containsSecret(name: string): boolean {
  return presetRedactor.redactAtOnce(name) !== name;
}

/** Refuses a new epic whose name contains a secret before anything is written under it. */
export async function refuseSecretName({ git }: { readonly git: GitEngine }, epic: EpicId): Promise<void> {
  if (!containsSecret(epic) || (await git.readRef(epicRef(epic))) !== null) return;
  throw new OrchError(
    'EPIC_ID_INVALID',
    'this epic id looks like a secret, and every checkpoint would contain it',
    { hint: 'Nothing was written. Try --epic my-feature' },
  );
}

function refused(index: number, problem: string): OrchError {
  return new OrchError('USAGE', `fact ${index + 1} cannot be recorded: ${problem}`, {
    hint: 'Use fewer words or several records. Programs find the fields of a fact in the type Fact.',
    data: { index },
  });
}
