import { writeFileSync } from 'node:fs';
import { runOrch } from './orch.ts';
import { ranIn, readRan } from './plans.ts';
import type { TestRepository } from './repository.ts';
import { startSupervisor, waitUntil } from './supervised.ts';

/** The third task goes on until there is a file `go`. */
export const release = `name: release
tasks:
  - { id: lint, run: echo lint >> $RAN }
  - { id: build, run: "echo build >> $RAN; echo built > app.js", artifacts: [app.js] }
  - { id: slow, run: "echo slow $$ >> $RAN; until test -e $RAN.go; do sleep 0.05; done" }
  - { id: publish, run: echo publish >> $RAN }
`;

/** Starts the plan, and waits until it is in its third task. */
export async function startSlow(repository: TestRepository, ...args: string[]) {
  const runner = startSupervisor(repository, ['run', 'plan.yaml', ...args], ranIn(repository));
  await waitUntil(() => readRan(repository).some((line) => line.startsWith('slow')));
  const pid = Number(readRan(repository).at(-1)?.split(' ')[1]);
  return { runner, pid };
}

export function letGo(repository: TestRepository): void {
  writeFileSync(`${ranIn(repository).env.RAN}.go`, '');
}

export async function kill({ runner }: Awaited<ReturnType<typeof startSlow>>): Promise<void> {
  runner.signal('SIGKILL');
  await runner.ended;
}

export const run = (repository: TestRepository, ...args: string[]) =>
  runOrch(repository, ['run', 'plan.yaml', ...args], ranIn(repository));

/** What ran, without the numbers. */
export const tasksOf = (repository: TestRepository) => readRan(repository).map((line) => line.split(' ')[0]);
