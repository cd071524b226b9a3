import { constants } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, exitStatuses, OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { SessionInfo } from '../session/fate.ts';
import { makeSessionId } from '../session/here.ts';
import { startInBackground } from '../system/background.ts';
import { makeFolder, readTextIfThere } from '../system/files.ts';
import type { EpicId, SessionId } from '../types.ts';
import type { Context } from './run.ts';

/** Where a session in the background, and its command, print. */
export function logPath(home: string, session: SessionId): string {
  return join(home, 'logs', nameFile(session, '.log'));
}

type Message = {
  readonly started?: { readonly session: SessionInfo | null; readonly brief: string | null };
  /** What it told who waits, besides. */
  readonly said?: readonly string[];
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly hint: string | null;
    readonly data: Record<string, unknown>;
  };
};

/** Starts the same call again in the background, and answers once its start checkpoint is durable. */
export async function goToBackground(context: Context, orch: Orch, epic: EpicId): Promise<number> {
  const session = makeSessionId(orch);
  const log = logPath(orch.home, session);
  await makeFolder(orch.disk, join(orch.home, 'logs'));
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const output = orch.disk.open(log, O_APPEND | O_CREAT | O_WRONLY, 0o644);
  const env = { ORCH_BACKGROUND: session, ORCH_EPIC: epic };
  const word = await startInBackground(context.argv, { env, output });
  orch.disk.close(output);
  const { started, said = [], error } = (word.kind === 'said' ? word.message : {}) as Message; // sent by this program
  if (error) {
    const { code, message, hint, data } = error;
    throw new OrchError(code, message, { ...(hint && { hint }), data });
  }
  if (!started) throw diedEarly(log);
  const { out, json } = context;
  for (const line of said) out.tell(line);
  if (json) out.print(JSON.stringify(started));
  else {
    const { number } = started.session ?? { number: '?' };
    out.print(
      `● ${epic}, session ${number}, runs in the background (pid ${word.kind === 'said' ? word.pid : '?'})`,
    );
    out.tell(`  See it  orch session logs -f -e ${epic}      End it  orch session pause -e ${epic}`);
  }
  return 0;
}

function diedEarly(log: string): OrchError {
  const last = readTextIfThere(log)?.split('\n').slice(-5).join('\n');
  return new OrchError(
    'INTERNAL',
    `the process in the background ended before it began${last ? `: ${last}` : ''}`,
    {
      hint: `See ${log}. Run it in the foreground to see more.`,
      data: { log, status: exitStatuses.INTERNAL },
    },
  );
}
