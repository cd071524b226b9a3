import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { isOrchError } from '../../errors.ts';
import { cutBytes } from '../../text.ts';
import type { Output } from '../output.ts';
import { type Context, openContext } from '../run-command.ts';
import { Lines } from './mcp-lines.ts';
import { type Tool, tools } from './mcp-tools.ts';

declare const __ORCH_VERSION__: string;

const instructions =
  'orch records this work in git, for the next agent and the user. Record decisions with their reasons, and approaches that failed, as they happen: anything not recorded is lost when the conversation ends.';

/** Serves an agent until it closes stdin. Only the protocol is written to stdout. */
export async function serveMcp(context: Context): Promise<number> {
  const lines = new Lines(process.stdin, process.stdout);
  // One call at a time, because they write to the same session; the last one finishes before this process ends.
  let queue: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  const onerror = ({ message }: Error) => context.out.inform(`orch mcp: ${message}`);
  serveStdio(() => makeServer((tool, input) => inTurn(() => answer(context, tool, input))), {
    transport: lines,
    onerror,
  });
  await lines.closed;
  await queue;
  return 0;
}

type Result = {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly isError?: true;
};

function makeServer(call: (tool: Tool, input: object) => Promise<Result>): McpServer {
  const server = new McpServer({ name: 'orch', version: __ORCH_VERSION__ }, { instructions });
  for (const tool of tools) {
    const { name, title, description, input: inputSchema, readOnly } = tool;
    const annotations = { readOnlyHint: readOnly, destructiveHint: false, openWorldHint: false };
    server.registerTool(name, { title, description, inputSchema, annotations }, (input: object) =>
      call(tool, input),
    );
  }
  return server;
}

/** A model should not have to read more than this at once. */
const maxAnswerBytes = 48 * 1024;

/** Runs a tool as its command; what the command would print becomes the answer. */
async function answer(base: Context, tool: Tool, input: object): Promise<Result> {
  const lines: string[] = [];
  const print = (text: string) => {
    lines.push(text);
  };
  const out: Output = { print, inform: print, paint: (_, text) => text, columns: 120, isQuiet: false };
  // The caller is always an agent, whatever the environment says.
  const settings = { ...base.settings, byAgent: true };
  const context = openContext({ ...base, out, json: false, settings });
  const finish = (isError: boolean): Result => {
    const text = cutBytes(lines.join('\n'), maxAnswerBytes);
    return { content: [{ type: 'text', text }], ...(isError && { isError: true as const }) };
  };
  try {
    await tool.run(context, input);
    return finish(false);
  } catch (error) {
    const known = isOrchError(error) ? error : null;
    if (known === null) base.out.inform(`orch mcp: ${error instanceof Error ? error.stack : error}`);
    lines.push(`error: ${error instanceof Error ? error.message : error}`);
    if (known?.hint) lines.push(known.hint);
    return finish(true);
  }
}
