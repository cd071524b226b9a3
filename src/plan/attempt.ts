import { hasCode, systemCode } from '../errors.ts';
import { type HttpResult, sendRequest } from '../system/request.ts';
import { type RunEnd, run } from '../system/run.ts';
import type { Environment } from '../system/spawn.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { hidePassword } from './deed.ts';
import type { Attempt } from './outcome.ts';
import { fillIn, findUnsetVariables, hideSecrets } from './placeholders.ts';
import type { Check, Command, Deed, Request } from './types.ts';

/** Where and with what effects are carried out. */
export type Surroundings = {
  readonly cwd: string;
  /** All of it: what this process has, and the task's own. */
  readonly env: Environment;
  /** For one attempt; null where nothing was said. */
  readonly timeout: Millis | null;
  readonly signal: AbortSignal;
  /** Takes what commands print, and a line for each request. */
  readonly onOutput: (text: string) => void;
};

export type Stopped = { readonly how: 'stopped' };

const connectTimeout: Millis = 10_000;
/** A request or a check that nobody gave a time: longer than any that works takes. */
const usualTimeout: Millis = 60_000;
const shownBytes = 200;

/** Carries an effect out once. */
export async function attempt(deed: Deed, key: string, at: Surroundings): Promise<Attempt | Stopped> {
  switch (deed.kind) {
    case 'command':
      return readEnd(await runCommand(deed.run, key, at, at.timeout ?? Number.POSITIVE_INFINITY));
    case 'request':
      return attemptRequest(deed, deed.request, key, at);
    case 'function':
      try {
        await deed.perform(key);
        return { how: 'done' };
      } catch (error) {
        return { how: 'threw', ...explainThrown(error) };
      }
  }
}

function runCommand(command: Command, key: string, at: Surroundings, timeout: Millis): Promise<RunEnd> {
  const { cwd, env, signal, onOutput } = at;
  return run({
    command: command.kind === 'shell' ? command.line : command.argv,
    cwd,
    env,
    marker: `ORCH_IDEMPOTENCY_KEY=${key}`,
    timeout,
    signal,
    onOutput,
  });
}

function readEnd(end: RunEnd): Attempt | Stopped {
  switch (end.how) {
    case 'exited':
      return end;
    case 'signalled':
      return { how: 'cut_short', problem: `was ended by ${end.signal}` };
    case 'timed_out':
      return { how: 'cut_short', problem: 'took too long, and was ended' };
    case 'not_started':
      return { how: 'impossible', problem: end.reason };
    case 'aborted':
      return { how: 'stopped' };
  }
}

async function attemptRequest(
  deed: Deed,
  written: Request,
  key: string,
  at: Surroundings,
): Promise<Attempt | Stopped> {
  const [unset] = findUnsetVariables(deed, at.env);
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
    timeout: at.timeout ?? usualTimeout,
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

/** Whether an effect was done already, as far as its check can tell. */
export type CheckAnswer =
  | { readonly kind: 'done' | 'not_done' | 'stopped' }
  | { readonly kind: 'unknown'; readonly problem: string; readonly isTransient: boolean };

/** What a shell says of a command it does not find, or may not run. */
const notRun: readonly number[] = [126, 127];

export async function askCheck(check: Check, key: string, at: Surroundings): Promise<CheckAnswer> {
  if (check.kind === 'function') {
    try {
      return { kind: (await check.isDone(key)) ? 'done' : 'not_done' };
    } catch (error) {
      return { kind: 'unknown', ...explainThrown(error) };
    }
  }
  const end = readEnd(await runCommand(check.run, key, at, at.timeout ?? usualTimeout));
  if (end.how === 'stopped') return { kind: 'stopped' };
  if (end.how === 'exited' && end.status === 0) return { kind: 'done' };
  if (end.how === 'exited' && end.status !== 75 && !notRun.includes(end.status)) return { kind: 'not_done' };
  const problem = end.how === 'exited' ? `exited ${end.status}` : 'problem' in end ? end.problem : end.how;
  const isTransient = end.how === 'cut_short' || (end.how === 'exited' && end.status === 75);
  return { kind: 'unknown', problem, isTransient };
}

const networkCodes: readonly string[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
];

/** A function says "try again" by throwing what the network throws, or `RESUME_NEEDED`. */
function explainThrown(error: unknown): { readonly problem: string; readonly isTransient: boolean } {
  const cause = error instanceof Error ? error.cause : undefined;
  const isTransient =
    hasCode(error, 'RESUME_NEEDED') ||
    [error, cause].some((one) => networkCodes.includes(systemCode(one) ?? ''));
  const problem = error instanceof Error ? error.message : String(error);
  return { problem: cleanLine(problem, shownBytes) || 'it failed without a word', isTransient };
}
