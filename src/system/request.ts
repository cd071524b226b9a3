import type { ClientRequest, IncomingMessage } from 'node:http';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';

export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | null;
  /** To be connected. */
  readonly connectTimeout: Millis;
  /** For everything, the answer's last byte included. */
  readonly timeout: Millis;
  readonly signal: AbortSignal;
};

export type HttpResult =
  | {
      readonly how: 'answered';
      readonly status: number;
      readonly headers: { readonly [name: string]: string | string[] | undefined };
      /** Its beginning. */
      readonly text: string;
    }
  | { readonly how: 'unanswered'; readonly mayHaveArrived: boolean; readonly problem: string }
  | { readonly how: 'impossible'; readonly problem: string }
  | { readonly how: 'aborted'; readonly mayHaveArrived: boolean };

/** As much of an answer as is kept; the rest is read and forgotten, up to the bound. */
const keptBytes = 4_096;
/** An answer that goes on for longer is no answer to a request like ours. */
const mostBytes = 16 * 1024 * 1024;

/**
 * Sends one request over a connection of its own and waits for the whole answer. No redirect is followed, no proxy
 * used. An answer that breaks off is none, whatever its status line said.
 */
export async function sendRequest(request: HttpRequest): Promise<HttpResult> {
  const { protocol } = new URL(request.url);
  const { request: open } = protocol === 'https:' ? await import('node:https') : await import('node:http');
  if (request.signal.aborted) return { how: 'aborted', mayHaveArrived: false };
  return new Promise((resolve) => {
    let isConnected = false;
    let outgoing: ClientRequest | null = null;
    const settle = (result: HttpResult): void => {
      clearTimeout(connecting);
      clearTimeout(waiting);
      request.signal.removeEventListener('abort', abort);
      outgoing?.destroy();
      resolve(result);
    };
    const fail = (problem: string) => settle({ how: 'unanswered', mayHaveArrived: isConnected, problem });
    const abort = () => settle({ how: 'aborted', mayHaveArrived: isConnected });
    const connecting = setTimeout(
      () => fail(`no connection within ${request.connectTimeout / 1_000} s`),
      request.connectTimeout,
    );
    const waiting = setTimeout(
      () => fail(`no whole answer within ${request.timeout / 1_000} s`),
      Math.min(request.timeout, 2 ** 31 - 1),
    );
    request.signal.addEventListener('abort', abort);
    try {
      const { method, url, headers } = request;
      outgoing = open(url, { method, headers: { ...headers, connection: 'close' }, agent: false });
    } catch (error) {
      settle({ how: 'impossible', problem: error instanceof Error ? error.message : String(error) });
      return;
    }
    outgoing.on('socket', (socket) => {
      socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true;
        clearTimeout(connecting);
      });
    });
    outgoing.on('error', (error) => {
      if (isRefusedCertificate(error)) settle({ how: 'impossible', problem: explain(error) });
      else fail(explain(error));
    });
    outgoing.on('response', (answer) => {
      collect(answer).then(
        (text) => settle({ how: 'answered', status: answer.statusCode ?? 0, headers: answer.headers, text }),
        (error: unknown) => fail(error instanceof Error ? explain(error) : String(error)),
      );
    });
    outgoing.end(request.body ?? undefined);
  });
}

async function collect(answer: IncomingMessage): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (bytes < keptBytes) kept.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`the answer is longer than ${mostBytes / 1024 ** 2} MB`);
  }
  if (!answer.complete) throw new Error('the answer broke off');
  return Buffer.concat(kept).subarray(0, keptBytes).toString('utf8');
}

/** The other side showed a certificate that is wrong: asking again shows the same. */
function isRefusedCertificate(error: Error): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(systemCode(error) ?? '');
}

const problems: { readonly [code: string]: string } = {
  ECONNREFUSED: 'nobody answers there (connection refused)',
  ECONNRESET: 'the connection broke off',
  EPIPE: 'the connection broke off',
  ENOTFOUND: 'the host is not known',
  EAI_AGAIN: 'the host could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
};

function explain(error: Error): string {
  const code = systemCode(error);
  if (code?.startsWith('HPE_')) return `what came back is no HTTP (${code})`;
  return problems[code ?? ''] ?? error.message;
}
