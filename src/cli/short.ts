import { endSpec } from './end-spec.ts';
import { runCommands } from './run.ts';
import { listSpec } from './session-list.ts';
import type { Spec } from './spec.ts';
import { resumeSpec, startSpec } from './start-spec.ts';

/** The short forms people type daily. */
export const shortSpecs: readonly Spec[] = [
  startSpec('start', 'start a session, alone or around an agent'),
  resumeSpec('resume', 'continue an epic, with its brief'),
  endSpec('pause', 'pause the running session, with a checkpoint'),
  endSpec('complete', 'end the session: the work is done'),
  {
    ...listSpec,
    summary: 'all sessions, or the checkpoints of one epic',
    examples: ['orch list', 'orch list --epic feat-login --json'],
  },
];

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, shortSpecs);
}
