import { hasCode, systemCode } from '../errors.ts';
import { describeLeft } from '../system/process-table.ts';
import { type RunEnd, run } from '../system/run.ts';
import type { Environment } from '../system/spawn.ts';
import { cleanLine } from '../text.ts';
import type { Millis } from '../types.ts';
import { attemptRequest } from './attempt-request.ts';
import type { Attempt } from './outcome.ts';
import type { Command, Deed } from './types.ts';

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

/** A request or a check that nobody gave a time: longer than any that works takes. */
export const usualTimeout: Millis = 60_000;

/** Carries an effect out once. */
export async function attempt(deed: Deed, key: string, at: Surroundings): Promise<Attempt | Stopped> {
  switch (deed.kind) {
    case 'command':
      return readEnd(await runCommand(deed.run, key, at, at.timeout ?? Number.POSITIVE_INFINITY));
    case 'request':
      return attemptRequest(deed.request, key, { ...at, timeout: at.timeout ?? usualTimeout });
    case 'function':
      try {
        await deed.perform(key, deed.content ?? null);
        return { how: 'done' };
      } catch (error) {
        return { how: 'threw', ...explainThrown(error) };
      }
  }
}

/** Runs a command that can be known again by its key. */
export function runCommand(
  command: Command,
  key: string,
  at: Surroundings,
  timeout: Millis,
): Promise<RunEnd> {
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

export function readEnd(end: RunEnd): Attempt | Stopped {
  switch (end.how) {
    case 'exited':
      return end;
    case 'signalled':
      return { how: 'cut_short', problem: `was ended by ${end.signal}` };
    case 'timed_out':
      return { how: 'cut_short', problem: `took too long, and was ended${describeLeft(end.left)}` };
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

/** A function says "try again" by throwing what the network throws, or `RESUME_NEEDED`. */
export function explainThrown(error: unknown): { readonly problem: string; readonly isTransient: boolean } {
  const cause = error instanceof Error ? error.cause : undefined;
  const isTransient =
    hasCode(error, 'RESUME_NEEDED') ||
    [error, cause].some((one) => networkCodes.includes(systemCode(one) ?? ''));
  const problem = error instanceof Error ? error.message : String(error);
  return { problem: cleanLine(problem, 200) || 'it failed without a word', isTransient };
}
