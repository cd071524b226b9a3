import { hasCode, messageOf, systemCode } from '../../errors.ts';
import { type HttpResult, sendRequest } from '../../system/http.ts';
import { type RunEnd, run, temporaryFailure } from '../../system/process/capture.ts';
import { describeRemaining } from '../../system/process/process-table.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { cleanLine } from '../../text.ts';
import type { Millis } from '../../types.ts';
import { fillIn, findUnsetVariables, hidePassword, hideSecrets } from '../action-text.ts';
import type { Action, Check, Command, Request } from '../plan.ts';
import type { AttemptResult } from './outcome.ts';

export type AttemptContext = {
  readonly cwd: string;
  /** The whole environment: this process's, with the task's own entries. */
  readonly env: Environment;
  /** For one attempt; null if the plan sets none. */
  readonly timeout: Millis | null;
  readonly signal: AbortSignal;
  /** Receives the output of commands, and a line for each request. */
  readonly onOutput: (text: string) => void;
};

type Stopped = { readonly how: 'stopped' };

/** For requests and checks without a timeout: longer than any that works takes. */
const defaultTimeout: Millis = 60_000;

/** Carries out an effect's action once. */
export async function attemptAction(
  action: Action,
  key: string,
  context: AttemptContext,
): Promise<AttemptResult | Stopped> {
  switch (action.kind) {
    case 'command':
      return runCommand(action.run, key, context, context.timeout ?? Number.POSITIVE_INFINITY);
    case 'request':
      return attemptRequest(action.request, key, context);
    case 'function':
      try {
        await action.perform(key, action.content ?? null);
        return { how: 'done' };
      } catch (error) {
        return { how: 'threw', ...explainThrown(error) };
      }
  }
}

/** Runs a command, marked with the effect's key. */
async function runCommand(
  command: Command,
  key: string,
  { cwd, env, signal, onOutput }: AttemptContext,
  timeout: Millis,
): Promise<AttemptResult | Stopped> {
  const end: RunEnd = await run({
    command: command.kind === 'shell' ? command.line : command.argv,
    cwd,
    env,
    marker: `ORCH_IDEMPOTENCY_KEY=${key}`,
    timeout,
    signal,
    onOutput,
  });
  switch (end.how) {
    case 'exited':
      return end;
    case 'signalled':
      return { how: 'cut_short', problem: `was ended by ${end.signal}` };
    case 'timed_out':
      return { how: 'cut_short', problem: `timed out and was ended${describeRemaining(end.left)}` };
    case 'not_started':
      return { how: 'impossible', problem: end.reason };
    case 'aborted':
      return { how: 'stopped' };
  }
}

const networkCodes: readonly string[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
];

/** A function asks for another attempt by throwing a network error or `RESUME_NEEDED`. */
function explainThrown(error: unknown): { readonly problem: string; readonly isTransient: boolean } {
  const cause = error instanceof Error ? error.cause : undefined;
  const isTransient =
    hasCode(error, 'RESUME_NEEDED') ||
    [error, cause].some((one) => networkCodes.includes(systemCode(one) ?? ''));
  return { problem: cleanLine(messageOf(error), 200) || 'it failed without a message', isTransient };
}

const connectTimeout: Millis = 10_000;
/** How much of an answer is shown. */
const shownBytes = 200;

/** Sends an effect's request once, with its key. Nothing that it reports contains a secret. */
async function attemptRequest(
  written: Request,
  key: string,
  { env, timeout, signal, onOutput }: AttemptContext,
): Promise<AttemptResult | Stopped> {
  const [unset] = findUnsetVariables({ kind: 'request', request: written }, env);
  if (unset !== undefined) return { how: 'impossible', problem: `${unset} is not set in the environment` };
  const { request, secrets } = fillIn(written, env);
  if (!/^https?:/i.test(request.url) || !URL.canParse(request.url))
    return { how: 'impossible', problem: `${hidePassword(written.url)} is not a web address` };
  const { text, type } = formatBody(request.body);
  const answer = await sendRequest({
    method: request.method,
    url: request.url,
    headers: withKey(request.headers, type, key),
    body: text,
    connectTimeout,
    timeout: timeout ?? defaultTimeout,
    signal,
  });
  const result = readAnswer(answer, secrets);
  if (result.how !== 'stopped')
    onOutput(`${written.method} ${hidePassword(written.url)}: ${describeResult(result)}\n`);
  return result;
}

function readAnswer(answer: HttpResult, secrets: readonly string[]): AttemptResult | Stopped {
  if (answer.how === 'aborted') return { how: 'stopped' };
  if (answer.how !== 'answered') return { ...answer, problem: hideSecrets(answer.problem, secrets) };
  const { status, headers } = answer;
  const moved = status >= 300 && status < 400 ? [headers.location].flat()[0] : undefined;
  const text = moved === undefined ? answer.text : `moved to ${hidePassword(moved)}`;
  return {
    how: 'answered',
    status,
    retryAfter: [headers['retry-after']].flat()[0] ?? null,
    text: cleanLine(hideSecrets(text, secrets), shownBytes),
  };
}

function describeResult(result: AttemptResult): string {
  if (result.how === 'answered') return `${result.status}${result.text === '' ? '' : ` ${result.text}`}`;
  return 'problem' in result ? result.problem : result.how;
}

function formatBody(body: unknown): { readonly text: string | null; readonly type: string | null } {
  if (body === null || body === undefined) return { text: null, type: null };
  if (typeof body === 'string') return { text: body, type: 'text/plain; charset=utf-8' };
  return { text: JSON.stringify(body), type: 'application/json' };
}

/** Always sends our key: one written in a plan would be the same in every run. */
function withKey(headers: Request['headers'], type: string | null, key: string): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'idempotency-key');
  const hasType = own.some(([name]) => name.toLowerCase() === 'content-type');
  return {
    'User-Agent': 'orch',
    ...(type !== null && !hasType && { 'Content-Type': type }),
    ...Object.fromEntries(own),
    'Idempotency-Key': key,
  };
}

/** Whether an effect was already done, as far as its check can tell. */
type CheckAnswer =
  | { readonly kind: 'done' | 'not_done' | 'stopped' }
  | { readonly kind: 'unknown'; readonly problem: string; readonly isTransient: boolean };

/** The exit statuses of a shell that can't find a command or may not run it. */
const notRun: readonly number[] = [126, 127];

/** Runs an effect's check. If the check itself fails, the answer is unknown. */
export async function askCheck(
  check: Check,
  action: Action,
  key: string,
  context: AttemptContext,
): Promise<CheckAnswer> {
  if (check.kind === 'function') {
    const content = action.kind === 'function' ? (action.content ?? null) : null;
    try {
      return { kind: (await check.isDone(key, content)) ? 'done' : 'not_done' };
    } catch (error) {
      return { kind: 'unknown', ...explainThrown(error) };
    }
  }
  const end = await runCommand(check.run, key, context, context.timeout ?? defaultTimeout);
  if (end.how === 'stopped') return { kind: 'stopped' };
  if (end.how === 'exited') {
    if (end.status === 0) return { kind: 'done' };
    const isTransient = end.status === temporaryFailure;
    if (!isTransient && !notRun.includes(end.status)) return { kind: 'not_done' };
    return { kind: 'unknown', problem: `exited ${end.status}`, isTransient };
  }
  const problem = 'problem' in end ? end.problem : end.how;
  return { kind: 'unknown', problem, isTransient: end.how === 'cut_short' };
}
