import type { CommandSpec } from './spec.ts';

/** For the help only: a call of it is taken by `hook.ts` before anything is parsed. */
export const hookSpec: CommandSpec = {
  name: 'hook',
  summary: 'what agents call; JSON on stdin',
  description:
    'Takes what Claude Code or Codex tell of themselves, as JSON on stdin, and answers in their words.',
  argument: { name: 'agent', required: true, description: 'the agent', choices: ['claude', 'codex'] },
  options: [],
  examples: ['orch hook claude < event.json'],
  run: async (context) => (await import('./hook.ts')).run(context.argv),
};
