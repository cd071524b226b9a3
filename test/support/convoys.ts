import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type GateChoice, type MergeResult, openMergeQueue } from '../../src/convoy/merge/merge-queue.ts';
import { openMergedWorktree } from '../../src/convoy/worktree/task-worktree.ts';
import { parseEpicId, parseOid } from '../../src/ids.ts';
import { openOrch } from '../../src/orch.ts';
import type { Oid } from '../../src/types.ts';
import { afterTest, endProcessesIn } from './cleanup.ts';
import { type Ran, runOrch } from './orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';

/** A convoy as scripts see it. */
export type ConvoyDocument = {
  readonly convoy: {
    readonly status: string;
    readonly merged: string;
    readonly budget: { readonly spentUsd: number };
    readonly tasks: readonly {
      readonly id: string;
      readonly status: string;
      readonly attempts: number;
      readonly reason: string | null;
      readonly commit: string | null;
      readonly costUsd: number;
      readonly worktree: string | null;
      readonly health: string | null;
      readonly collisions: readonly { readonly task: string }[];
    }[];
  };
};

/**
 * A repository with an agent, a shell script that does what `work` says for each task: lines of a `case` on `$ORCH_TASK`.
 * It notes in `$RAN` that it ran.
 */
export function makeConvoyed(plan: string, work: string, gates = ''): TestRepository {
  const repository = makeRepositoryWithCommit();
  afterTest(() => endProcessesIn(repository.home));
  const script = [
    '#!/bin/sh',
    'echo "$ORCH_TASK $ORCH_ATTEMPT" >> "$RAN"',
    'case $ORCH_TASK in',
    work,
    'esac',
  ];
  repository.write('agent.sh', `${script.join('\n')}\n`);
  repository.git('update-index', '--add', '--chmod=+x', 'agent.sh');
  repository.git('config', 'user.name', 'A User');
  repository.git('config', 'user.email', 'user@example.com');
  if (gates !== '') repository.write('gate.sh', gates);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '--message', 'agent');
  repository.write('plan.yaml', plan);
  return repository;
}

export function ranEnvironment({ home }: TestRepository): Record<string, string> {
  return { RAN: join(home, 'ran') };
}

/** Which attempts at which tasks ran, in their order: `login 1`. */
export function readAttempts({ home }: TestRepository): string[] {
  try {
    return readFileSync(join(home, 'ran'), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}

/** What a command about a convoy printed. */
export type Convoyed = Ran & { readonly document: ConvoyDocument };

/** Runs a command about the convoy of a repository's plan. */
export function convoy(repository: TestRepository, verb: string, ...args: string[]): Convoyed {
  const ran = runOrch(repository, ['convoy', verb, 'plan.yaml', ...args, '--json'], {
    env: ranEnvironment(repository),
  });
  return { ...ran, document: JSON.parse(ran.stdout || 'null') };
}

/** How each task ended. */
export function statusesOf({ convoy }: ConvoyDocument): Record<string, string> {
  return Object.fromEntries(convoy.tasks.map(({ id, status }) => [id, status]));
}

/** The files on a convoy's merged branch, with their content. */
export function readMerged(repository: TestRepository, convoy: string): Record<string, string> {
  const branch = `orch/${convoy}/merged`;
  const paths = repository.git('ls-tree', '-r', '--name-only', branch).split('\n');
  return Object.fromEntries(paths.map((path) => [path, repository.git('show', `${branch}:${path}`)]));
}

/** Changes files of a repository: their new content, null if they are deleted. */
export type Changes = { readonly [path: string]: string | null };

/** Makes a commit with changes on a branch of its own, from a commit; the checkout stays as it is. */
export function commitOn(
  { git, folder }: TestRepository,
  branch: string,
  changes: Changes,
  from = 'main',
): Oid {
  git('checkout', '--quiet', '-B', branch, from);
  for (const [path, content] of Object.entries(changes)) {
    const file = join(folder, path);
    if (content === null) rmSync(file, { recursive: true });
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
  }
  git('add', '--all', '--', ...Object.keys(changes));
  git('commit', '--quiet', '--message', branch);
  const commit = parseOid(git('rev-parse', 'HEAD'));
  git('checkout', '--quiet', 'main');
  return commit;
}

/** The merge queue of a convoy `auth`, without workers: each task is a commit with changes from main. */
export async function openTestQueue(
  repository: TestRepository,
  options: { readonly gates?: GateChoice; readonly batch?: number } = {},
) {
  const reports: string[] = [];
  const orch = await openOrch({
    ...{ cwd: repository.folder, engine: 'native', trusted: true },
    onReport: (what) => reports.push(what),
  });
  afterTest(() => orch.close());
  const convoy = parseEpicId('auth');
  repository.git('branch', 'orch/auth/merged');
  const worktree = await openMergedWorktree(orch, convoy);
  const queue = await openMergeQueue(orch, { convoy, worktree, gates: 'auto', ...options });
  const merge = (task: string, changes: Changes | Oid, signal = new AbortController().signal) => {
    const commit = typeof changes === 'string' ? changes : commitOn(repository, `orch/auth/${task}`, changes);
    return queue.merge({ task, title: task, lease: 1, commit }, signal);
  };
  return { orch, queue, worktree, reports, merge };
}

/** How each request to merge ended, by task. */
export async function settleAll(
  requests: Record<string, Promise<MergeResult>>,
): Promise<Record<string, MergeResult>> {
  const all = Object.entries(requests).map(async ([task, result]) => [task, await result] as const);
  return Object.fromEntries(await Promise.all(all));
}

/** Every commit the merged branch has pointed to, the oldest first. */
export function listTips({ folder }: TestRepository): string[] {
  const log = readFileSync(join(folder, '.git', 'logs', 'refs', 'heads', 'orch', 'auth', 'merged'), 'utf8');
  return log
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
}
