import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { afterTest } from './cleanup.ts';
import { orchBin, orchJson, startOrch } from './orch.ts';
import type { TestRepository } from './repository.ts';

/** An `orch` that works on a session. */
export type Supervisor = {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** Its exit status; null where it died of a signal. */
  readonly ended: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
};

/** Starts an `orch` that goes on until it is ended; what is left of it after the test is killed. */
export function startSupervisor(
  repository: TestRepository,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Supervisor {
  const child = startOrch(repository, args, options);
  afterTest(() => child.exitCode === null && child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    ended: new Promise((resolve) => child.on('close', (status) => resolve(status))),
    signal: (signal) => child.kill(signal),
  };
}

/** Kills a supervisor together with the guard that would end its command: now the command is alone (Linux). */
export async function killWithGuard({ pid, signal }: Supervisor): Promise<void> {
  const children = () => readIfThere(`/proc/${pid}/task/${pid}/children`).trim().split(' ').map(Number);
  const isGuard = (child: number) => readIfThere(`/proc/${child}/cmdline`).includes('cgroup.kill');
  await waitUntil(() => children().some(isGuard) && children().some((child) => !isGuard(child)));
  for (const guard of children().filter(isGuard)) process.kill(guard, 'SIGKILL');
  signal('SIGKILL');
  // Its command holds the pipes open, so the end of orch itself is waited for.
  await waitUntil(() => !isAlive(pid));
}

/** Waits until something is so; if it never is, fails with what `describe` says. The one way for a test to wait. */
export function waitUntil(check: () => unknown, describe?: () => string): Promise<unknown> {
  const look = async () => expect(await check(), describe?.()).toBeTruthy();
  return vi.waitFor(look, { timeout: 60_000, interval: 20 });
}

/** A program of the user's, in their repository, that git does not see. */
export function writeScript(repository: TestRepository, name: string, ...lines: string[]): string {
  const path = join(repository.home, name);
  writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** The line by which a script calls `orch`. */
export function callOrch(args: string): string {
  return `'${process.execPath}' '${orchBin}' ${args}`;
}

export function writeConfig(repository: TestRepository, text: string): void {
  mkdirSync(join(repository.folder, '.orchestration'), { recursive: true });
  repository.write('.orchestration/config.yaml', text);
}

/** What a command under supervision said in a file, once it did. */
export async function readWhenThere(path: string): Promise<string> {
  await waitUntil(() => readIfThere(path).endsWith('\n'));
  return readIfThere(path).trim();
}

export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Does a process run, and not only wait to be buried? */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return process.platform !== 'linux' || !/^State:\s+[ZX]/m.test(readIfThere(`/proc/${pid}/status`));
}

export type Status = {
  readonly session: { id: string; number: number; status: string; parentSessionId: string | null };
  readonly checkpoint: { seq: number; trigger: string; reason: string | null } | null;
  readonly budget: { spentUsd: number; level: string };
  readonly pendingEvents: number;
};

export function statusOf(repository: TestRepository, epic: string): Status {
  return orchJson<Status>(repository, ['session', 'status', '-e', epic]);
}

/** The triggers of an epic's checkpoints, oldest first. */
export function triggersOf(repository: TestRepository, epic: string): string[] {
  const { checkpoints } = orchJson<{ checkpoints: { trigger: string }[] }>(repository, [
    'checkpoint',
    'list',
    '-e',
    epic,
    '--all',
  ]);
  return checkpoints.map(({ trigger }) => trigger).reverse();
}

/** The files that say who works on what in a clone. */
export function liveFiles({ folder }: TestRepository): string[] {
  const live = join(folder, '.git', 'orchestration', 'live');
  return readdirSync(live).map((name) => join(live, name));
}
