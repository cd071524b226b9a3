import { OrchError } from '../errors.ts';
import { type EngineChoice, engineChoices } from '../git/open.ts';
import { parseWriterId } from '../ids.ts';
import type { OrchOptions } from '../orch.ts';
import { realClock } from '../system/clock.ts';

type Variables = { readonly [name: string]: string | undefined };

/** Every setting that comes from the environment. */
export type Settings = Pick<OrchOptions, 'engine' | 'writer' | 'clock'> & {
  readonly epic: string | undefined;
};

export function readSettings(env: Variables): Settings {
  const { ORCH_ENGINE, ORCH_WRITER, ORCH_EPIC, ORCH_NOW } = env;
  return {
    engine: parseEngine(ORCH_ENGINE || 'auto'),
    ...(ORCH_WRITER && { writer: parseWriterId(ORCH_WRITER) }),
    clock: ORCH_NOW ? fixedClock(ORCH_NOW) : realClock,
    epic: ORCH_EPIC || undefined,
  };
}

function parseEngine(text: string): EngineChoice {
  const choice = engineChoices.find((known) => known === text);
  if (choice) return choice;
  throw new OrchError(
    'USAGE',
    `ORCH_ENGINE is ${JSON.stringify(text)}; it can be ${engineChoices.join(', ')}`,
  );
}

/** A clock that stands still, so that what is printed can be compared. */
function fixedClock(text: string) {
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new OrchError('USAGE', `ORCH_NOW is ${JSON.stringify(text)}, which is not a time`);
  return { now: () => at };
}
