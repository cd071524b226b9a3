import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterTest } from '../../support/cleanup.ts';
import type { Asked } from './script.ts';

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text === '' ? null : JSON.parse(text);
}

/** Serves on a free port of the loopback until the test's end; gives the address. */
export async function serve(answer: (asked: Asked, response: ServerResponse) => Promise<void>) {
  const server = createServer((request, response) => {
    readBody(request)
      .then((body) => answer({ path: request.url ?? '', headers: request.headers, body }, response))
      // An agent that was killed hangs up in the middle of an answer: that is its business.
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the stand-in has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** Sends one JSON document. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Sends an event stream; every event says its type in its data too, as both APIs do. */
export function sendEvents(response: ServerResponse, events: readonly { readonly type: string }[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': nextId('req') });
  for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

let count = 0;

/** An id no other answer of this process has. */
export function nextId(prefix: string): string {
  count += 1;
  return `${prefix}_${String(count).padStart(6, '0')}`;
}
