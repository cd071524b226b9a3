import type { ClientRequest, IncomingMessage } from 'node:http';
import { messageOf, systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';

type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | null;
  readonly connectTimeout: Millis;
  /** For the whole exchange, including the last byte of the answer. */
  readonly timeout: Millis;
  readonly signal: AbortSignal;
};

export type HttpResult =
  | {
      readonly how: 'answered';
      readonly status: number;
      readonly headers: { readonly [name: string]: string | string[] | undefined };
      /** The beginning of the body. */
      readonly text: string;
    }
  | { readonly how: 'unanswered'; readonly mayHaveArrived: boolean; readonly problem: string }
  | { readonly how: 'impossible'; readonly problem: string }
  | { readonly how: 'aborted'; readonly mayHaveArrived: boolean };

/** Reads when a server wants to be asked again: in so many seconds, or at a date; null if it does not say. */
export function parseRetryAfter(header: string | null, now: Millis): Millis | null {
  if (header === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return now + Number(header) * 1_000;
  const at = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(at, now);
}

/** The rest of an answer is read and dropped. */
const keptBytes = 4_096;
/** A longer answer counts as none. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Sends one request over its own connection and waits for the whole answer, without redirects or proxies. An
 * incomplete answer counts as none, whatever its status line says.
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
      () => fail(`no complete answer within ${request.timeout / 1_000} s`),
      Math.min(request.timeout, 2 ** 31 - 1),
    );
    request.signal.addEventListener('abort', abort);
    try {
      const { method, url, headers } = request;
      outgoing = open(url, { method, headers: { ...headers, connection: 'close' }, agent: false });
    } catch (error) {
      settle({ how: 'impossible', problem: messageOf(error) });
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
    if (bytes > maxBytes) throw new Error(`the answer is longer than ${maxBytes / 1024 ** 2} MB`);
  }
  if (!answer.complete) throw new Error('the answer is incomplete');
  return Buffer.concat(kept).subarray(0, keptBytes).toString('utf8');
}

/** A retry would meet the same certificate. */
function isRefusedCertificate(error: Error): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(systemCode(error) ?? '');
}

const problems: { readonly [code: string]: string } = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
};

function explain(error: Error): string {
  const code = systemCode(error);
  if (code?.startsWith('HPE_')) return `the answer is not HTTP (${code})`;
  return problems[code ?? ''] ?? error.message;
}
