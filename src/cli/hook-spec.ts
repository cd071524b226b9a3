import type { CommandSpec } from './spec.ts';

/* For the help only: a call of these is taken by `hook.ts` and `statusline.ts` before anything is parsed. */

export const hookSpec: CommandSpec = {
  name: 'hook',
  summary: 'what agents call; JSON on stdin',
  description:
    'Takes what Claude Code or Codex tell of themselves, as JSON on stdin, and answers in their words.',
  argument: { name: 'agent', required: true, description: 'the agent', choices: ['claude', 'codex'] },
  options: [],
  examples: ['orch hook claude < event.json'],
  run: async (context) => (await import('./hook-first.ts')).run(context.argv),
};

export const statuslineSpec: CommandSpec = {
  name: 'statusline',
  summary: 'the line Claude Code shows; JSON on stdin',
  description:
    'Prints one line for Claude Code to show: epic, session, money, context window, age of the last checkpoint.',
  options: [{ flags: '--then <line>', description: 'what stood there before orch; it is shown first' }],
  examples: ['orch statusline < status.json'],
  run: async (context) => (await import('./statusline.ts')).run(context.argv),
};
