import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createControlGroup } from '../../src/system/process/control-group.ts';
import { orchBin, type Ran } from './orch.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

/** Can limits be set here? */
export const hasLimits = spawnSync('prlimit', ['--version']).status === 0;

const probe = createControlGroup('probe');
probe?.close();
/** Can control groups be made here? */
export const hasGroups = probe !== null;

/** The same machine without control groups: in a mount namespace where nothing of them is to be seen. */
export const withoutGroups = [
  'unshare',
  '-m',
  'sh',
  '-c',
  'for at in $(awk \'$3 == "cgroup2" { print $2 }\' /proc/mounts); do umount -l "$at" || exit 1; done; exec "$@"',
  'sh',
] as const;
/** Can they be hidden? */
export const canHideGroups = spawnSync('unshare', [...withoutGroups.slice(1), 'true']).status === 0;

/** Runs `orch` with a limit of the system, for it and all it starts. */
export function runLimited(
  repository: TestRepository,
  limit: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Ran {
  const { status, stdout, stderr } = spawnSync('prlimit', [limit, process.execPath, orchBin, ...args], {
    cwd: repository.folder,
    env: cleanEnvironment(repository.home, env),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

/** Runs something in this process while it can open no file; what gives it back is started before. */
export async function withoutDescriptors<T>(work: () => T): Promise<T> {
  const limit = (soft: string) => `prlimit --pid ${process.pid} --nofile=${soft}:`;
  const script = `old=$(prlimit --pid ${process.pid} --nofile --noheadings -o SOFT); ${limit('8')}; echo low; read x; ${limit('$old')}`;
  const helper = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(helper, 'close');
  await once(helper.stdout, 'data');
  try {
    return await work();
  } finally {
    helper.stdin.end('\n');
    await ended;
  }
}
