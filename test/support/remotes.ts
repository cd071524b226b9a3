import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
} from 'node:net';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { sync } from '../../src/index.ts';
import { repositoryAt } from './checkpoints.ts';
import { afterTest } from './cleanup.ts';
import { cleanEnvironment, makeRepositoryWithCommit, type TestRepository } from './repository.ts';

/** A repository that clones share, with one commit of the user's on main, and where it is. */
export type Hub = TestRepository & { readonly url: string };

export function makeHub(...init: string[]): Hub {
  const { home, folder, git } = makeRepositoryWithCommit(...init);
  const bare = join(home, 'hub', 'repository');
  git('clone', '--quiet', '--bare', folder, bare);
  return { ...repositoryAt(home, bare), url: `file://${bare}` };
}

/** A clone beside the hub. `options` are of `git clone`. */
export function cloneOf(hub: Hub, name: string, ...options: string[]): TestRepository {
  const folder = join(hub.home, name);
  hub.git('clone', '--quiet', ...options, hub.url, folder);
  return repositoryAt(hub.home, folder);
}

/** Syncs through the library, publishing whatever there is. */
export function syncIn(repository: TestRepository, remote: string | null = null) {
  return sync(remote, { cwd: repository.folder }, { mayPublish: () => true });
}

/** Serves a folder of repositories by `git daemon`; the address to put their names behind. */
export async function serveDaemon(hub: TestRepository, ...options: string[]): Promise<string> {
  const port = await findPort();
  const args = ['daemon', '--reuseaddr', '--export-all', '--listen=127.0.0.1', `--port=${port}`];
  const base = [`--base-path=${dirname(hub.folder)}`, ...options, dirname(hub.folder)];
  // In a group of its own: what it starts for a connection ends with it.
  const env = cleanEnvironment(hub.home);
  const child = spawn('git', [...args, ...base], { env, stdio: 'ignore', detached: true });
  afterTest(() => child.pid && process.kill(-child.pid, 'SIGKILL'));
  await vi.waitFor(() => tryToConnect(port), { timeout: 20_000, interval: 20 });
  return `git://127.0.0.1:${port}/repository`;
}

function tryToConnect(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}

function findPort(): Promise<number> {
  const server = createTcpServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo; // a TCP server's address is one
      server.close(() => resolve(port));
    });
  });
}

/** A server that takes a connection, and never says a word. */
export async function serveSilence(): Promise<number> {
  return listen(createTcpServer(() => {}));
}

function listen(server: Server | TcpServer): Promise<number> {
  afterTest(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)); // as above
  });
}

export type HttpOptions = {
  /** Answers in the place of git, where it returns true. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Breaks an answer off after this many bytes. */
  readonly breakAfter?: (request: IncomingMessage) => number | null;
};

/** Serves a repository by smart HTTP: git's own `http-backend` behind a few lines of node. */
export async function serveHttp(hub: TestRepository, options: HttpOptions = {}): Promise<string> {
  const server = createServer((request, response) => {
    if (options.intercept?.(request, response)) return;
    runBackend(hub, request, response, options.breakAfter?.(request) ?? null);
  });
  return `http://127.0.0.1:${await listen(server)}/repository`;
}

function runBackend(
  hub: TestRepository,
  request: IncomingMessage,
  response: ServerResponse,
  breakAfter: number | null,
): void {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const child = spawn('git', ['http-backend'], {
    env: cleanEnvironment(hub.home, {
      GIT_PROJECT_ROOT: dirname(hub.folder),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      REMOTE_ADDR: '127.0.0.1',
      REMOTE_USER: 'somebody', // without one, http-backend lets nobody push
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      ...(request.headers['content-encoding'] && {
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
      }),
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    }),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin).on('error', () => {}); // it answered before it had read all
  let head: Buffer | null = Buffer.alloc(0);
  let sent = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    let body = chunk;
    if (head !== null) {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      writeHead(response, head.toString('latin1', 0, end));
      body = head.subarray(end + 4);
      head = null;
    }
    const rest = breakAfter === null ? body.length : Math.max(0, breakAfter - sent);
    sent += body.length;
    response.write(body.subarray(0, rest));
    if (breakAfter !== null && sent >= breakAfter) request.socket.destroy();
  });
  child.on('close', () => response.end());
}

function writeHead(response: ServerResponse, head: string): void {
  for (const line of head.split('\r\n')) {
    const [name = '', value = ''] = line.split(/: (.*)/);
    if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
}
