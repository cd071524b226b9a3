import { defineCommand } from '../../run-command.ts';
import type { Command } from '../../spec.ts';

/* The commands that agents call. main.ts runs hook and statusline before anything is parsed; their specs are for the help. */

const summary = 'called by agents, on stdin and stdout';

export const commands: { readonly [name: string]: Command } = {
  hook: defineCommand({
    summary,
    description: 'Handle an event of Claude Code or Codex, given as JSON on stdin.',
    argument: { name: 'agent', required: true, description: 'the agent', choices: ['claude', 'codex'] },
    options: [],
    examples: ['orch hook claude < event.json'],
    run: async (context) => (await import('../../direct/hook.ts')).run(context.argv),
  }),

  statusline: defineCommand({
    summary,
    description:
      'Print one line for Claude Code to show: epic, session, money, context window, age of the last checkpoint.',
    options: [
      { flags: '--then <line>', description: 'your own status line command; its output comes first' },
    ],
    examples: ['orch statusline < status.json'],
    run: async (context) => (await import('../../direct/statusline.ts')).run(context.argv),
  }),

  mcp: defineCommand({
    summary,
    description:
      'Serve the Model Context Protocol on stdin and stdout. An agent can read the brief, record decisions and failed attempts, save checkpoints and ask the user, all in its own session. It cannot raise a budget. The server ends when stdin closes.',
    options: [],
    examples: ['orch mcp', 'claude mcp add orch -- orch mcp'],
    // Only this command loads the protocol's library.
    run: async (context) => (await import('../../mcp/mcp-server.ts')).serveMcp(context),
  }),
};
