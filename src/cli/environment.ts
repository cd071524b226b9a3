import { OrchError } from '../errors.ts';
import { type EngineChoice, engineChoices } from '../git/open.ts';
import { parseSessionId, parseWriterId } from '../ids.ts';
import type { OrchOptions } from '../orch.ts';
import { realClock } from '../system/clock.ts';
import type { EpicId, SessionId, WriterId } from '../types.ts';

type Variables = { readonly [name: string]: string | undefined };

/** Every setting that comes from the environment. */
export type Settings = Pick<OrchOptions, 'engine' | 'writer' | 'host' | 'clock'> & {
  readonly epic: string | undefined;
  /** The session this command was started in. */
  readonly session: SessionId | undefined;
  /** Is it an agent that types? */
  readonly byAgent: boolean;
  /** May commands of the repository run without having been approved? */
  readonly trusted: boolean;
  /** The session this process is to work on for another, which went on. */
  readonly background: SessionId | undefined;
};

export function readSettings(env: Variables): Settings {
  const { ORCH_ENGINE, ORCH_WRITER, ORCH_HOST, ORCH_EPIC, ORCH_NOW } = env;
  const { ORCH_SESSION, ORCH_TRUST, ORCH_BACKGROUND } = env;
  return {
    engine: parseEngine(ORCH_ENGINE || 'auto'),
    ...(ORCH_WRITER && { writer: parseWriter(ORCH_WRITER) }),
    ...(ORCH_HOST !== undefined && { host: ORCH_HOST }),
    clock: ORCH_NOW ? fixedClock(ORCH_NOW) : realClock,
    epic: ORCH_EPIC || undefined,
    session: ORCH_SESSION ? parseSession(ORCH_SESSION) : undefined,
    byAgent: Boolean(ORCH_SESSION || env.CLAUDECODE),
    trusted: ORCH_TRUST === '1',
    background: ORCH_BACKGROUND ? parseSession(ORCH_BACKGROUND) : undefined,
  };
}

/** What a command that runs in a session gets besides. */
export function sessionEnvironment(epic: EpicId, session: SessionId, briefFile: string) {
  // The last is this process's own: a call the command makes would take itself for the one in the background.
  return {
    ORCH_EPIC: epic,
    ORCH_SESSION: session,
    ORCH_BRIEF_FILE: briefFile,
    ORCH_BACKGROUND: undefined,
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
    throw new OrchError(
      'USAGE',
      `ORCH_WRITER is ${JSON.stringify(text.slice(0, 80))}, which is not a writer id`,
      {
        hint: 'Use letters, digits, ".", "_" and "-", at most 64, such as ci-runner-1',
        cause,
      },
    );
  }
}

function parseEngine(text: string): EngineChoice {
  const choice = engineChoices.find((known) => known === text);
  if (choice) return choice;
  throw new OrchError(
    'USAGE',
    `ORCH_ENGINE is ${JSON.stringify(text)}; it can be ${engineChoices.join(', ')}`,
    { hint: 'Leave it unset: auto is right nearly everywhere' },
  );
}

/** A clock that stands still, so that what is printed can be compared. */
function fixedClock(text: string) {
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new OrchError('USAGE', `ORCH_NOW is ${JSON.stringify(text)}, which is not a time`, {
      hint: 'Give a time such as 2026-11-16T12:00:00Z, or leave it unset',
    });
  return { now: () => at, elapsed: realClock.elapsed };
}
