import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterTest } from './cleanup.ts';

/** What the server does with a request. It has applied it, unless it says `refused` or answers with an error. */
export type Behaviour =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** Applies it, and breaks the connection off before any answer. */
  | 'drops'
  /** Breaks the connection off, and has done nothing. */
  | 'refuses'
  /** Applies it, and breaks off in the middle of the answer. */
  | 'half-answers'
  /** Applies it, and answers with what is no HTTP. */
  | 'babbles'
  /** Applies it, and never answers. */
  | 'hangs';

export type Received = {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type EffectServer = {
  readonly url: string;
  /** Every request that came in, in its order. */
  readonly received: Received[];
  /** The paths of what was applied, in order: once for each key, as a server does that honours keys. */
  readonly applied: string[];
  /** How often each key came. */
  countOf(key: string): number;
};

/** A web server on loopback that honours idempotency keys, and behaves as it is told; `nth` counts a path's requests. */
export async function startEffectServer(
  behave: (request: Received, nth: number) => Behaviour = () => ({ status: 200 }),
): Promise<EffectServer> {
  const received: Received[] = [];
  const applied = new Map<string, string>();
  const sockets = new Set<Socket>();
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('error', () => {}); // whoever sent it is gone
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: Received = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        key: String(incoming.headers['idempotency-key'] ?? ''),
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      received.push(request);
      const nth = received.filter(({ path }) => path === request.path).length;
      const behaviour = behave(request, nth);
      const isApplied = typeof behaviour === 'string' ? behaviour !== 'refuses' : behaviour.status < 300;
      if (isApplied && !applied.has(request.key)) applied.set(request.key, request.path);
      switch (behaviour) {
        case 'drops':
        case 'refuses':
          incoming.socket.destroy();
          return;
        case 'half-answers':
          incoming.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of');
          return;
        case 'babbles':
          incoming.socket.end('I am no web server\r\n\r\n');
          return;
        case 'hangs':
          return;
        default:
          answer.writeHead(behaviour.status, behaviour.headers);
          answer.end(behaviour.body);
      }
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  afterTest(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  const { port } = server.address() as AddressInfo; // it listens on an address, not on a pipe
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    get applied() {
      return [...applied.values()];
    },
    countOf: (key) => received.filter((request) => request.key === key).length,
  };
}
