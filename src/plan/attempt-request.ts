import { type HttpResult, sendRequest } from '../system/request.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import type { Stopped, Surroundings } from './attempt.ts';
import { hidePassword } from './deed.ts';
import type { Attempt } from './outcome.ts';
import { fillIn, findUnsetVariables, hideSecrets } from './placeholders.ts';
import type { Request } from './types.ts';

const connectTimeout: Millis = 10_000;
/** How much of an answer is shown. */
const shownBytes = 200;

/** Sends an effect's request once, with its key. What is told of it holds no secret. */
export async function attemptRequest(
  written: Request,
  key: string,
  at: Surroundings & { readonly timeout: Millis },
): Promise<Attempt | Stopped> {
  const [unset] = findUnsetVariables({ kind: 'request', request: written }, at.env);
  if (unset !== undefined) return { how: 'impossible', problem: `${unset} is not set in the environment` };
  const { request, secrets } = fillIn(written, at.env);
  if (!/^https?:/i.test(request.url) || !URL.canParse(request.url))
    return { how: 'impossible', problem: `${hidePassword(written.url)} is no address of a web server` };
  const { text, type } = formatBody(request.body);
  const result = await sendRequest({
    method: request.method,
    url: request.url,
    headers: withKey(request.headers, type, key),
    body: text,
    connectTimeout,
    timeout: at.timeout,
    signal: at.signal,
  });
  const attempted = readResult(result, secrets);
  if (attempted.how !== 'stopped')
    at.onOutput(`${written.method} ${hidePassword(written.url)}: ${sayResult(attempted)}\n`);
  return attempted;
}

function readResult(result: HttpResult, secrets: readonly string[]): Attempt | Stopped {
  if (result.how === 'aborted') return { how: 'stopped' };
  if (result.how !== 'answered') return { ...result, problem: hideSecrets(result.problem, secrets) };
  const { status, headers } = result;
  const moved = status >= 300 && status < 400 ? [headers.location].flat()[0] : undefined;
  const said = moved === undefined ? result.text : `moved to ${hidePassword(moved)}`;
  return {
    how: 'answered',
    status,
    retryAfter: [headers['retry-after']].flat()[0] ?? null,
    text: cleanLine(hideSecrets(said, secrets), shownBytes),
  };
}

function sayResult(attempted: Attempt): string {
  if (attempted.how === 'answered')
    return `${attempted.status}${attempted.text === '' ? '' : ` ${attempted.text}`}`;
  return 'problem' in attempted ? attempted.problem : attempted.how;
}

function formatBody(body: unknown): { readonly text: string | null; readonly type: string | null } {
  if (body === null || body === undefined) return { text: null, type: null };
  if (typeof body === 'string') return { text: body, type: 'text/plain; charset=utf-8' };
  return { text: JSON.stringify(body), type: 'application/json' };
}

/** The key is ours to give: one that is written in a plan would be the same in every run. */
function withKey(headers: Request['headers'], type: string | null, key: string): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'idempotency-key');
  const isSaid = own.some(([name]) => name.toLowerCase() === 'content-type');
  return {
    'User-Agent': 'orch',
    ...(type !== null && !isSaid && { 'Content-Type': type }),
    ...Object.fromEntries(own),
    'Idempotency-Key': key,
  };
}
