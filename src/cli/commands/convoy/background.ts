import { constants } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, OrchError } from '../../../errors.ts';
import { generateSessionId, type Orch, sessionLogPath } from '../../../index.ts';
import { makeFolder, readTextIfThere } from '../../../system/disk.ts';
import { startInBackground as startDetached } from '../../../system/process/spawn.ts';
import { printJson } from '../../output.ts';
import type { Context } from '../../run-command.ts';

/* A convoy's scheduler in a process of its own, which outlives the terminal. */

type Message = {
  readonly convoy?: string;
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly hint: string | null;
    readonly data: Record<string, unknown>;
  };
};

/** Runs a command of a convoy in the background, and returns once the convoy has started. */
export async function startInBackground(
  { out, json }: Context,
  orch: Orch,
  argv: readonly string[],
  name: string,
): Promise<number> {
  const id = generateSessionId();
  const log = sessionLogPath(orch.home, id);
  await makeFolder(orch.disk, join(orch.home, 'logs'));
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const output = orch.disk.open(log, O_APPEND | O_CREAT | O_WRONLY, 0o644);
  const answer = await startDetached(argv, { env: { ORCH_BACKGROUND: id }, output });
  orch.disk.close(output);
  const { convoy, error } = (answer.kind === 'message' ? answer.message : {}) as Message; // sent by orch itself
  if (error) {
    const { code, message, hint, data } = error;
    throw new OrchError(code, message, { ...(hint && { hint }), data });
  }
  // It may have had nothing to do.
  if (convoy === undefined && answer.kind === 'ended' && answer.status !== 0)
    throw new OrchError('INTERNAL', `the convoy did not start: ${readEnd(log)}`, {
      hint: `See ${log}, or start it without --background`,
      data: { log },
    });
  const pid = answer.kind === 'message' ? answer.pid : null;
  if (json) printJson(out, { convoy: convoy ?? name, pid, log });
  else if (pid === null) out.print(`${name} had nothing left to do.`);
  else {
    out.print(`● ${convoy} runs in the background (pid ${pid})`);
    out.inform(`  Watch  orch convoy show ${convoy} -f      Pause  orch convoy pause ${convoy}`);
  }
  return 0;
}

function readEnd(log: string): string {
  return readTextIfThere(log)?.trim().split('\n').slice(-3).join(' ') ?? 'it printed nothing';
}

/** Tells the call that waits for this process that the convoy has started. */
export function tellParent(convoy: string): void {
  if (process.connected) process.send?.({ convoy }, () => process.disconnect?.());
}

/** What this process starts is not the background process of a session. */
export function leaveParent(): void {
  delete process.env.ORCH_BACKGROUND;
}
