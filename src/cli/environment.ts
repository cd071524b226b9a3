import { OrchError } from '../errors.ts';
import { parseSessionId, parseWriterId } from '../ids.ts';
import { type EngineChoice, engineChoices, type OrchOptions } from '../index.ts';
import { realClock } from '../system/clock.ts';
import type { SessionId, WriterId } from '../types.ts';

type Variables = { readonly [name: string]: string | undefined };

/** Every setting from the environment. */
export type Settings = Pick<OrchOptions, 'engine' | 'writer' | 'host' | 'clock'> & {
  readonly epic: string | undefined;
  /** The session this command was started in. */
  readonly session: SessionId | undefined;
  /** Did an agent run this command? */
  readonly byAgent: boolean;
  /** May the repository's own commands run without approval? */
  readonly trusted: boolean;
  /** The file for the values of the task this command was started in. */
  readonly valuesFile: string | undefined;
  /** The session this background process supervises for the call that started it. */
  readonly background: SessionId | undefined;
  /** The folder with what people say to the agent of an epic. */
  readonly messages: string | undefined;
  /** The names of variables that the command of a session does not get. */
  readonly hidden: readonly string[];
  /** Which attempt at which task it is for, if a scheduler with telemetry starts a supervisor. */
  readonly traced: string | undefined;
};

export function readSettings(env: Variables): Settings {
  const { ORCH_ENGINE, ORCH_WRITER, ORCH_HOST, ORCH_EPIC, ORCH_NOW } = env;
  const { ORCH_SESSION, ORCH_TRUST, ORCH_BACKGROUND, ORCH_VALUES, ORCH_MESSAGES, ORCH_HIDE } = env;
  return {
    engine: parseEngine(ORCH_ENGINE || 'auto'),
    ...(ORCH_WRITER && { writer: parseWriter(ORCH_WRITER) }),
    ...(ORCH_HOST !== undefined && { host: ORCH_HOST }),
    clock: ORCH_NOW ? fixedClock(ORCH_NOW) : realClock,
    epic: ORCH_EPIC || undefined,
    session: ORCH_SESSION ? parseSession(ORCH_SESSION) : undefined,
    byAgent: Boolean(ORCH_SESSION || env.CLAUDECODE),
    trusted: ORCH_TRUST === '1',
    valuesFile: ORCH_VALUES || undefined,
    background: ORCH_BACKGROUND ? parseSession(ORCH_BACKGROUND) : undefined,
    messages: ORCH_MESSAGES || undefined,
    hidden: ORCH_HIDE?.split(',').filter((name) => name !== '') ?? [],
    traced: env.ORCH_TELEMETRY || undefined,
  };
}

function parseSession(text: string): SessionId {
  try {
    return parseSessionId(text);
  } catch (cause) {
    throw new OrchError('USAGE', `ORCH_SESSION is ${JSON.stringify(text.slice(0, 80))}, not a session id`, {
      hint: 'Leave it unset: orch sets it for the commands it starts',
      cause,
    });
  }
}

function parseWriter(text: string): WriterId {
  try {
    return parseWriterId(text);
  } catch (cause) {
    throw new OrchError('USAGE', `ORCH_WRITER is ${JSON.stringify(text.slice(0, 80))}, not a writer id`, {
      hint: 'Use up to 64 letters, digits, ".", "_" and "-", such as ci-runner-1',
      cause,
    });
  }
}

function parseEngine(text: string): EngineChoice {
  const choice = engineChoices.find((known) => known === text);
  if (choice) return choice;
  throw new OrchError(
    'USAGE',
    `ORCH_ENGINE is ${JSON.stringify(text)}; it can be ${engineChoices.join(', ')}`,
    { hint: 'Leave it unset: auto works nearly everywhere' },
  );
}

/** A clock that always shows the same time, so that output can be compared. */
function fixedClock(text: string) {
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new OrchError('USAGE', `ORCH_NOW is ${JSON.stringify(text)}, not a time`, {
      hint: 'Give a time such as 2026-11-16T12:00:00Z, or leave it unset',
    });
  return { now: () => at, elapsed: realClock.elapsed };
}
