import type { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Event } from '../../src/state/facts.ts';
import { startOrch } from './orch.ts';
import type { TestRepository } from './repository.ts';

/** What a recorder was told: the event as `record --json` prints it. */
export type Told = {
  readonly kind: string;
  readonly text?: string;
  readonly usage?: { readonly micros: number };
};

export type Recorder = {
  readonly process: ReturnType<typeof spawn>;
  readonly ended: Promise<{ status: number | null; stderr: string; told: Told | null }>;
};

/** Starts a process that records one thing; it was acknowledged where its document was printed. */
export function startRecorder(
  repository: TestRepository,
  args: readonly string[],
  env: Record<string, string> = {},
): Recorder {
  const child = startOrch(repository, ['record', ...args, '--json'], { env });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Awaited<Recorder['ended']>>((resolve) => {
    child.on('close', (status) => {
      const told = stdout.endsWith('\n') ? (JSON.parse(stdout).event as Told) : null; // `record` prints one document
      resolve({ status, stderr, told });
    });
  });
  return { process: child, ended };
}

/** One word for what was recorded, by which it is found in the history. */
export function nameOf(event: Told | Event['fact']): string {
  if ('usage' in event && event.usage) return `cost ${event.usage.micros}`;
  return 'text' in event ? `note ${event.text}` : event.kind;
}

/** Everything acknowledged is in the history, each once. */
export function expectOnce(events: readonly Event[], told: readonly Told[]): void {
  const found = events.map(({ fact }) => nameOf(fact)).filter((name) => /^(cost|note) /.test(name));
  expect(new Set(found).size, 'nothing is there twice').toBe(found.length);
  expect(
    told.map(nameOf).filter((name) => !found.includes(name)),
    'nothing acknowledged is missing',
  ).toEqual([]);
}

/** The processes that supervise sessions in a repository. */
export function listSupervisors({ folder }: TestRepository): number[] {
  const live = join(folder, '.git', 'orchestration', 'live');
  if (!existsSync(live)) return [];
  const records = readdirSync(live).filter((name) => name.endsWith('.json'));
  return records.map((name) => JSON.parse(readFileSync(join(live, name), 'utf8')).holder.pid);
}
