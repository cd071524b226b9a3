import { runCommands } from './run.ts';
import type { CommandSpec } from './spec.ts';

export const mcpSpec: CommandSpec = {
  name: 'mcp',
  summary: 'MCP server on stdio, for agents',
  description:
    'Serve the Model Context Protocol on stdin and stdout: an agent reads the brief, records decisions and failed attempts, saves checkpoints and asks the user, all in the session it runs in. It cannot raise a budget. Ends when stdin closes.',
  options: [],
  examples: ['orch mcp', 'claude mcp add orch -- orch mcp'],
  // What it takes to speak the protocol is loaded by this command only.
  run: async (context) => (await import('./mcp-server.ts')).serveMcp(context),
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [mcpSpec]);
}
