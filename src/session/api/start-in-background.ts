import { dirname, join } from 'node:path';
import { type ErrorCode, exitStatuses, OrchError } from '../../errors.ts';
import { parseSessionId } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { statIfThere } from '../../system/disk.ts';
import { type Environment, runNode } from '../../system/process/spawn.ts';
import type { EpicId, SessionId } from '../../types.ts';
import type { SessionConfig } from './session-api.ts';

/** Starts a session in a process of its own, which keeps it until it is paused or completed. */
export async function startInBackground(
  orch: Orch,
  epic: EpicId,
  config: SessionConfig,
): Promise<{ readonly session: SessionId; readonly brief: string | null }> {
  const { budget, checkpoint, takeOver, resume } = config;
  const args = [
    ...['start', '--background', '--json', '--no-baseline', '--epic', epic],
    ...(resume ? ['--resume'] : []),
    ...(budget === undefined ? [] : [`--budget=${budget}`]),
    ...(checkpoint === undefined ? [] : [`--checkpoint=${checkpoint}`]),
    ...(takeOver ? ['--take-over'] : []),
  ];
  const cwd = orch.repository.worktree ?? orch.repository.commonDir;
  const { status, stdout, stderr } = await runNode(findOwnProgram(), args, cwd);
  if (status !== 0) throw readError(stderr);
  const { session, brief } = JSON.parse(stdout) as { session: { id: string }; brief: string | null }; // printed by orch
  return { session: parseSessionId(session.id), brief };
}

type DetachedCommand = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** For the whole epic, in dollars; null for none. */
  readonly budget: string | null;
  /** Continue the newest session, and its conversation. */
  readonly resumes: boolean;
};

/**
 * Starts a command in a session with a supervisor of its own, which lives on when this process ends. Returns once its
 * start checkpoint is durable.
 */
export async function superviseDetached(epic: EpicId, command: DetachedCommand): Promise<void> {
  const { argv, cwd, env, budget, resumes } = command;
  const args = [
    ...['start', '--background', '--quiet', '--no-baseline', '--complete', '--epic', epic],
    ...(resumes ? ['--resume'] : []),
    ...(budget === null ? [] : [`--budget=${budget}`]),
    ...['--', ...argv],
  ];
  // A scheduler in the background is not the supervisor of this session.
  const { status, stderr } = await runNode(findOwnProgram(), args, cwd, {
    ...env,
    ORCH_BACKGROUND: undefined,
  });
  if (status === 0) return;
  const said = stderr.trim().split('\n').slice(-3).join(' ');
  const why = said || (status === null ? 'its supervisor was killed' : `its supervisor ended with ${status}`);
  throw new OrchError('INTERNAL', `the worker did not start: ${why}`, {
    hint: 'Fix the cause, then continue: orch convoy resume',
    data: { epicId: epic, status },
  });
}

/** Finds the command line program of the package that this library belongs to. */
function findOwnProgram(): string {
  let folder = import.meta.dirname;
  // A bundle of a command is four folders down.
  for (let up = 0; up < 6; up++) {
    const program = join(folder, 'bin', 'orch.js');
    if (statIfThere(program)) return program;
    folder = dirname(folder);
  }
  throw new OrchError('REPOSITORY_UNSUPPORTED', 'a session in the background needs the orch command', {
    hint: 'Install the whole package: the command is its bin/orch.js',
  });
}

/** Reads the error that a command with `--json` prints as the last line of stderr. */
function readError(stderr: string): OrchError {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  try {
    const { error } = JSON.parse(last) as {
      error: { code: string; message: string; hint: string | null; data: Record<string, unknown> };
    };
    const isKnown = (code: string): code is ErrorCode => Object.hasOwn(exitStatuses, code);
    const { code, message, hint, data } = error;
    return new OrchError(isKnown(code) ? code : 'INTERNAL', message, { ...(hint && { hint }), data });
  } catch {
    return new OrchError('INTERNAL', `the session in the background did not start: ${last}`);
  }
}
