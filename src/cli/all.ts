import { checkpointGroup } from './checkpoint.ts';
import { makeCompletion } from './completion.ts';
import { runCommands } from './run.ts';
import type { Spec } from './spec.ts';

/** Every command there is. */
const specs: readonly Spec[] = [checkpointGroup, makeCompletion(() => specs)];

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv.length === 0 ? ['--help'] : argv, specs);
}
