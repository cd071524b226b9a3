import { epicOption } from './choose.ts';
import type { CommandSpec } from './spec.ts';

const reasonOption = { flags: '-r, --reason <text>', description: 'why; it becomes the summary' };

const descriptions = {
  pause: 'Pause the running session, with a checkpoint; its command is stopped.',
  complete: 'Call the work done: end the session, with a final checkpoint.',
};

/** `orch session pause` and `complete`, and their short forms. */
export function endSpec(name: 'pause' | 'complete', summary?: string): CommandSpec {
  const typed = summary === undefined ? `session ${name}` : name;
  return {
    name,
    ...(summary !== undefined && { summary }),
    description: descriptions[name],
    options: [epicOption('the epic; by default that of the running session'), reasonOption],
    examples: [`orch ${typed}`, `orch ${typed} --epic feat-login --reason "End of day"`],
    run: (context, call) =>
      context.withOrch(async (orch) => (await import('./session-end.ts')).runEnd(context, orch, call, name)),
  };
}
