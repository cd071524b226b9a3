import { getHeapStatistics } from 'node:v8';
import { isOrchError } from '../../src/errors.ts';
import { mutate } from './mutate.ts';
import { makeRandom, type Random, seedOf } from './random.ts';
import type { Seed } from './seeds.ts';
import type { Target, Verdict } from './target.ts';

/** CPU time, not that of the clock: other processes must not make a finding. What is longer than 64 KB may take longer. */
const maxCpuMs = (bytes: number) => 1_000 + Math.max(0, bytes - 65_536) / 100;
const maxHeapGrowth = 400 * 1024 ** 2;

export type Finding = {
  readonly target: string;
  /** With the run's seed it gives the input again; null for a kept one. */
  readonly index: number | null;
  readonly problem: string;
  readonly input: Buffer;
};

export type Result = { readonly verdict: Verdict | null; readonly finding: Finding | null };

/** The input of one execution: the same for the same seed, target and number. */
export function makeInput(target: Target, seed: number, index: number): { input: Buffer; random: Random } {
  const random = makeRandom(seedOf(seed, target.name, index));
  const sample = random.pick(target.samples);
  // The samples themselves come first: what is refused of them is a fault of the corpus.
  const first = target.samples[index];
  const input = first ?? mutate(target.form, sample, random.pick(target.samples), random);
  return { input, random };
}

/** The same for an input that was kept. */
export function readSeed({ target, found, input }: Seed): { input: Buffer; random: Random } {
  return { input: Buffer.from(input), random: makeRandom(seedOf(target, found)) };
}

/** Runs an input, and finds what must not happen: another error than orch's own, too much time, too much memory. */
export async function execute(
  target: Target,
  { input, random }: { input: Buffer; random: Random },
  index: number | null,
): Promise<Result> {
  const find = (problem: string): Result => ({
    verdict: null,
    finding: { target: target.name, index, problem, input },
  });
  const before = getHeapStatistics().used_heap_size;
  const began = process.cpuUsage();
  let verdict: Verdict;
  try {
    verdict = await target.run(input, random);
  } catch (error) {
    if (!isOrchError(error) || error.code === 'INTERNAL') return find(describe(error));
    verdict = 'refused';
  }
  const { user, system } = process.cpuUsage(began);
  if ((user + system) / 1_000 > maxCpuMs(input.length))
    return find(`slow: ${Math.round((user + system) / 1_000)} ms for ${input.length} bytes`);
  const grown = getHeapStatistics().used_heap_size - before;
  if (grown > maxHeapGrowth)
    return find(`memory: ${Math.round(grown / 1024 ** 2)} MB for ${input.length} bytes`);
  return { verdict, finding: null };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  return error.stack ?? error.message;
}

/** Findings of one root are told apart by where they are and what kind of error it is, not by their words. */
export function kindOf({ target, problem }: Finding): string {
  const [first = '', ...rest] = problem.split('\n');
  const frame = rest.find((line) => /src\/|targets\//.test(line));
  if (frame === undefined) return `${target}: ${first.replace(/\d+/g, 'N').slice(0, 100)}`;
  const [, words = ''] = /^Error: must: (.{1,40})/.exec(first) ?? [];
  const where = frame.replace(/^\s*at\s*/, '').replace(/\(?\/.*\//, '(');
  return `${target}: ${/^\w+/.exec(first)?.[0] ?? ''} @ ${where}${words && ` (${words.replace(/[^a-z' ].*/, '')})`}`;
}
