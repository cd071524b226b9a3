import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepositoryWithCommit, type TestRepository } from './repository.ts';

/** A repository with a plan in it, whose tasks can say in a file outside of it that they ran: `echo x >> $RAN`. */
export function makePlanned(plan: string): TestRepository {
  const repository = makeRepositoryWithCommit();
  repository.write('plan.yaml', plan);
  return repository;
}

/** The environment of a plan's tasks. */
export function ranIn({ home }: TestRepository): { env: Record<string, string> } {
  return { env: { RAN: join(home, 'ran'), ORCH_EPIC: 'e' } };
}

/** What ran, in its order. */
export function readRan({ home }: TestRepository): string[] {
  try {
    return readFileSync(join(home, 'ran'), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}

export type RunDocument = {
  readonly run: {
    readonly id: string;
    readonly name: string;
    readonly status: string;
    readonly from: string | null;
    readonly tasks: readonly { id: string; number: number; status: string; attempts: number }[];
    readonly effects: readonly { id: string; key: string; status: string }[];
  };
};

/** `{lint: 'succeeded', …}` */
export function statusesOf({ run }: RunDocument): Record<string, string> {
  return Object.fromEntries(run.tasks.map(({ id, status }) => [id, status]));
}
