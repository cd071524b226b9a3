import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterTest } from './cleanup.ts';
import { orchBin, type Ran, runOrch } from './orch.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

type Options = { readonly cwd?: string; readonly env?: Record<string, string> };

/** A real client of the protocol, connected to `orch mcp` in a repository. */
export async function openMcp(repository: TestRepository, { cwd, env }: Options = {}) {
  const client = new Client({ name: 'test', version: '1' });
  afterTest(() => client.close());
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [orchBin, 'mcp'],
    cwd: cwd ?? repository.folder,
    env: cleanEnvironment(repository.home, env),
    stderr: 'pipe',
  });
  await client.connect(transport);
  return {
    client,
    /** Calls a tool: what it said, and whether that is an error. */
    async call(name: string, input: Record<string, unknown> = {}) {
      const { content, isError = false } = await client.callTool({ name, arguments: input });
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
      return { text, isError };
    },
  };
}

/** A request as a line. */
export const request = (id: unknown, method: string, params: object = {}) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

export const hello = request(0, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});

export const callTool = (id: unknown, name: string, input: object) =>
  request(id, 'tools/call', { name, arguments: input });

// biome-ignore lint/suspicious/noExplicitAny: answers of the protocol, which tests look into.
type Answer = any;

/** Says these bytes to `orch mcp` and closes; every line it answers must be a message of the protocol. */
export function sayToMcp(
  repository: TestRepository,
  input: string,
  options: Options = {},
): Ran & { readonly answers: Answer[] } {
  const ran = runOrch(repository, ['mcp'], { ...options, input });
  const answers: Answer[] = ran.stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { ...ran, answers };
}
