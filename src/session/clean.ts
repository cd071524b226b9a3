import { OrchError } from '../errors.ts';
import type { Fact } from '../state/facts.ts';
import { cleanText } from '../text.ts';

/** More than any fact needs; a caller that has more to say says it in several. */
const maxFactBytes = 64 * 1024;

/** Takes facts from outside: of the right shape, their texts clean and bounded. Nothing is recorded before this. */
export async function cleanFacts(facts: readonly Fact[]): Promise<Fact[]> {
  if (facts.length === 0) return [];
  const { findFactProblem } = await import('../state/fact-shape.ts');
  return facts.map((fact, index) => {
    const problem = findFactProblem(fact);
    if (problem !== null) throw refused(index, problem);
    const clean = cleanTexts(fact) as Fact; // only texts change, and they stay texts
    const bytes = Buffer.byteLength(JSON.stringify(clean));
    if (bytes > maxFactBytes)
      throw refused(index, `it takes ${bytes} bytes, at most ${maxFactBytes} can be recorded`);
    return clean;
  });
}

function cleanTexts(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cleanTexts(part)]));
}

function refused(index: number, problem: string): OrchError {
  return new OrchError('USAGE', `fact ${index + 1} cannot be recorded: ${problem}`, {
    hint: 'See the type Fact for what each kind of fact has',
    data: { index },
  });
}
