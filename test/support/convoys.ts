import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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
    }[];
  };
};

/**
 * A repository with an agent, a shell script that does what `work` says for each task: lines of a `case` on `$ORCH_TASK`.
 * It notes in `$RAN` that it ran.
 */
export function makeConvoyed(plan: string, work: string, gates = ''): TestRepository {
  const repository = makeRepositoryWithCommit();
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
