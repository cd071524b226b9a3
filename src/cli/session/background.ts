import { constants } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, exitStatuses, OrchError } from '../../errors.ts';
import { generateSessionId, type Orch, type Session, sessionLogPath } from '../../index.ts';
import { makeFolder, readTextIfThere } from '../../system/disk.ts';
import { startInBackground } from '../../system/process/spawn.ts';
import type { EpicId } from '../../types.ts';
import { printJson } from '../output.ts';
import type { Context } from '../run-command.ts';

type Message = {
  readonly started?: { readonly session: Session | null; readonly brief: string | null };
  /** What it printed at the start, for the waiting call to repeat. */
  readonly said?: readonly string[];
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly hint: string | null;
    readonly data: Record<string, unknown>;
  };
};

/** Starts the same call in the background, and returns once its start checkpoint is durable. */
export async function runInBackground(context: Context, orch: Orch, epic: EpicId): Promise<number> {
  const session = generateSessionId();
  const log = sessionLogPath(orch.home, session);
  await makeFolder(orch.disk, join(orch.home, 'logs'));
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const output = orch.disk.open(log, O_APPEND | O_CREAT | O_WRONLY, 0o644);
  const env = { ORCH_BACKGROUND: session, ORCH_EPIC: epic };
  const answer = await startInBackground(context.argv, { env, output });
  orch.disk.close(output);
  const { started, said = [], error } = (answer.kind === 'message' ? answer.message : {}) as Message; // sent by orch itself
  if (error) {
    const { code, message, hint, data } = error;
    throw new OrchError(code, message, { ...(hint && { hint }), data });
  }
  if (!started) throw endedEarly(log);
  const { out, json } = context;
  for (const line of said) out.inform(line);
  if (json) printJson(out, started);
  else {
    const { number } = started.session ?? { number: '?' };
    out.print(
      `● ${epic}, session ${number}, runs in the background (pid ${answer.kind === 'message' ? answer.pid : '?'})`,
    );
    out.inform(`  Watch  orch session logs -f -e ${epic}      Pause  orch session pause -e ${epic}`);
  }
  return 0;
}

function endedEarly(log: string): OrchError {
  const last = readTextIfThere(log)?.split('\n').slice(-5).join('\n');
  return new OrchError(
    'INTERNAL',
    `the background process ended before the session started${last ? `: ${last}` : ''}`,
    {
      hint: `See ${log}, or run it in the foreground.`,
      data: { log, status: exitStatuses.INTERNAL },
    },
  );
}
