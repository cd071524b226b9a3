import { OrchError } from '../errors.ts';
import { runCommands } from './run.ts';
import type { CommandSpec } from './spec.ts';

export const demoSpec: CommandSpec = {
  name: 'demo',
  summary: 'ten seconds in a throw-away repository',
  description: 'Show in ten seconds, in a throw-away repository, what orch does when an agent is killed.',
  options: [],
  examples: ['orch demo'],
  run: async (context) => {
    if (context.json)
      throw new OrchError('USAGE', 'the demo is a story for people, and has no JSON', {
        hint: 'Run: orch demo',
      });
    return (await import('./demo-story.ts')).tellStory(context);
  },
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [demoSpec]);
}
