import { join } from 'node:path';
import { endLeftovers } from '../../bisect/try-command.ts';
import { listOf, orNull, text, withFields } from '../../checks.ts';
import { OrchError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { isClean, listIgnoredTops } from '../../git/worktree/ignored-files.ts';
import { type OwnWorktree, openWorktree } from '../../git/worktree/own-worktrees.ts';
import { nameFile } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import type { Worker } from '../../plan/convoy-shape.ts';
import { keepTail } from '../../redact/output-tail.ts';
import { makeFolder, writeAtomically } from '../../system/disk.ts';
import { tryReadJson, writeJson } from '../../system/json-file.ts';
import { type RunEnd, run } from '../../system/process/capture.ts';
import { type Environment, inheritedEnvironment } from '../../system/process/spawn.ts';
import type { SharedCopies } from '../../system/shared-copies.ts';
import type { EpicId, Millis } from '../../types.ts';
import { formatAge } from '../../units.ts';
import { taskEpic } from '../names.ts';
import { bringFiles } from './bring-files.ts';
import { copyDependencies, digestSetup, keepDependencies } from './dependencies.ts';
import { compareConfig, readLocalConfig } from './watch-user.ts';

/** What a setup did to a worktree, noted beside what git knows of it. */
export type Prepared = {
  /** The setup and the lock files it ran with; null if nothing tells whether it would do the same again. */
  readonly digest: string | null;
  /** The ignored files and folders it made. */
  readonly made: readonly string[];
};

const isPrepared = withFields<Prepared>({ digest: orNull(text), made: listOf(text) });

export const nothingPrepared: Prepared = { digest: null, made: [] };

/** Reads a note about what a setup did; a worktree of an older orch has an empty one. */
export function readPrepared(path: string): Prepared {
  return tryReadJson(path, isPrepared) ?? nothingPrepared;
}

/** How a worktree got what its worker needs. */
export type SetupKind = 'none' | 'ran' | 'dependencies copied' | 'kept';

export type PrepareRequest = {
  readonly convoy: EpicId;
  readonly task: string;
  readonly worker: Worker;
  /** What the setup sees besides: the worker's slot and ports. */
  readonly env?: Environment | undefined;
  readonly signal: AbortSignal;
  readonly timeout?: Millis;
  readonly shared?: SharedCopies;
};

const longestSetup: Millis = 30 * 60_000;

/**
 * Brings in ignored files that the work needs, and installs what it needs. `earlier` is what is there from another task.
 * A setup that fails is not the fault of the worker.
 */
export async function prepareWorktree(
  orch: Orch,
  own: OwnWorktree,
  request: PrepareRequest,
  earlier: Prepared,
): Promise<SetupKind> {
  const { convoy, worker, signal, shared } = request;
  const { copy = [], setup } = worker;
  const worktree = openWorktree(own);
  const finish = async (kind: SetupKind, prepared: Prepared): Promise<SetupKind> => {
    await writeJson(orch, preparedPath(worktree), prepared);
    return kind;
  };
  for (const problem of await bringFiles(orch.repository, { worktree, copy, signal })) orch.report(problem);
  if (setup === undefined) return finish('none', nothingPrepared);
  const digest = await digestSetup(worktree, setup);
  if (digest !== null && earlier.digest === digest) return finish('kept', earlier);
  const place = { convoy, folder: own.path, signal, ...(shared && { shared }) };
  const copied = digest === null ? null : await copyDependencies(orch, { ...place, digest });
  if (copied !== null) return finish('dependencies copied', { digest, made: copied });
  const before = new Set(await listIgnoredTops(worktree));
  const config = await readLocalConfig(orch);
  await runSetup(orch, own, setup, request);
  const changed = compareConfig(config, await readLocalConfig(orch));
  if (changed.length > 0)
    orch.report(
      `setup changed the git config of the repository, which all worktrees share: ${changed.join(', ')}`,
    );
  const made = (await listIgnoredTops(worktree)).filter((path) => !before.has(path) || isEarlier(path));
  // One that also changes other files has to run in each worktree.
  if (digest === null || !(await isClean(worktree))) return finish('ran', nothingPrepared);
  await keepDependencies(orch, { ...place, digest, made });
  return finish('ran', { digest, made });

  function isEarlier(path: string): boolean {
    return earlier.made.includes(path);
  }
}

export function preparedPath({ gitDir }: Pick<Repository, 'gitDir'>): string {
  return join(gitDir, 'orch-prepared');
}

/** How much of a setup's output its log keeps, and how much of that an error shows. */
const keptOutput = 200_000;
const shownOutput = 1_000;

/** Runs the setup to its end, together with everything it started, and keeps what it printed. */
async function runSetup(
  orch: Orch,
  own: OwnWorktree,
  setup: NonNullable<Worker['setup']>,
  { convoy, task, env, signal, timeout = longestSetup }: PrepareRequest,
): Promise<void> {
  const output = keepTail(keptOutput);
  const marker = `ORCH_SETUP=${own.name}`;
  // In a git hook these variables name the user's repository.
  const inherited = Object.entries(inheritedEnvironment()).filter(([name]) => !name.startsWith('GIT_'));
  const end = await run({
    command: typeof setup === 'string' ? setup : [...setup],
    cwd: own.path,
    env: { ...Object.fromEntries(inherited), PWD: own.path, npm_config_prefer_offline: 'true', ...env },
    marker,
    timeout,
    signal,
    isGuarded: true,
    onOutput: output.add,
  }).finally(() => endLeftovers(marker));
  const printed = await output.read(orch.redact);
  const log = join(orch.home, 'logs', 'setup', nameFile(taskEpic(convoy, task), '.log'));
  await makeFolder(orch.disk, join(orch.home, 'logs', 'setup'));
  await writeAtomically(orch, log, printed, { isDurable: false });
  if (end.how === 'exited' && end.status === 0) return;
  throw new OrchError(
    'TASK_FAILED',
    `setup failed in ${own.path}: ${describeEnd(end, timeout)}; its output is in ${log}\n${printed.slice(-shownOutput)}`.trim(),
    {
      hint: 'This is not the fault of the worker. Fix setup: in the plan, then: orch convoy resume',
      data: { log },
    },
  );
}

function describeEnd(end: RunEnd, timeout: Millis): string {
  switch (end.how) {
    case 'exited':
      return `exit status ${end.status}`;
    case 'signalled':
      return `it was ended by ${end.signal}`;
    case 'timed_out':
      return `it ran for more than ${formatAge(timeout)}, and was ended`;
    case 'aborted':
      return 'it was stopped';
    case 'not_started':
      return `it could not be started: ${end.reason}`;
  }
}
