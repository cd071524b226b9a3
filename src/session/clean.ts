import { OrchError } from '../errors.ts';
import type { Redact } from '../redact.ts';
import type { Fact } from '../state/facts.ts';
import { cleanText } from '../text.ts';

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
export function cleanFacts(facts: readonly Fact[], redact: Redact): Fact[] {
  return facts.map((fact, index) => {
    const clean = cleanTexts(fact, redact) as Fact; // only texts change, and they stay texts
    const bytes = Buffer.byteLength(JSON.stringify(clean));
    if (bytes > maxFactBytes)
      throw refused(index, `it takes ${bytes} bytes, at most ${maxFactBytes} can be recorded at once`);
    return clean;
  });
}

function cleanTexts(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return cleanText(redact(value));
  if (Array.isArray(value)) return value.map((part) => cleanTexts(part, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cleanTexts(part, redact)]));
}

function refused(index: number, problem: string): OrchError {
  return new OrchError('USAGE', `fact ${index + 1} cannot be recorded: ${problem}`, {
    hint: 'Say it in fewer words, or in several records; programs find what a fact has at the type Fact',
    data: { index },
  });
}
