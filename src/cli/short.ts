import { runCommands } from './run.ts';
import type { Spec } from './spec.ts';
import { resumeSpec, startSpec } from './start-spec.ts';

/** The short forms people type daily. */
export const shortSpecs: readonly Spec[] = [
  startSpec('start', 'start a session, alone or around an agent'),
  resumeSpec('resume', 'go on with an epic, with its brief'),
];

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, shortSpecs);
}
