import type { Form } from './mutate.ts';
import type { Random } from './random.ts';

/** Was it taken for what it should be, or refused as it should? */
export type Verdict = 'accepted' | 'refused';

/**
 * Something that reads bytes of others. `run` throws what must never happen; an `OrchError` is a refusal.
 */
export type Target = {
  readonly name: string;
  readonly form: Form;
  readonly samples: readonly Buffer[];
  /** How much of the time it gets; 1 where it is not said. */
  readonly weight?: number;
  run(input: Buffer, random: Random): Promise<Verdict> | Verdict;
};

/** What a terminal would obey, or show as another text. */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Says that something must hold. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`must: ${what}`);
}

export function mustBeShowable(text: string, what: string): void {
  const found = obeyed.exec(text);
  must(
    found === null,
    `${what} shows a control character: ${JSON.stringify(text.slice((found?.index ?? 0) - 20, (found?.index ?? 0) + 20))}`,
  );
}
