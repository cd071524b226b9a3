import { isAbsolute, relative, resolve } from 'node:path';
import { hasCode, OrchError } from '../errors.ts';
import type { Gate } from '../gates/gate.ts';
import { listGates } from '../gates/run-baseline.ts';
import { findEntry } from '../git/objects/read-objects.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { statIfThere } from '../system/disk.ts';
import { tryLock } from '../system/lock.ts';
import { isInstalled } from '../system/process/spawn.ts';
import { findNearest, quoteForShell } from '../text.ts';
import type { Millis } from '../types.ts';
import { using, type Where } from '../where.ts';
import { type BisectResult, describeAnswer } from './answer.ts';
import { chooseBounds } from './bounds.ts';
import { nameSearch, openResults, searchLock } from './kept-results.ts';
import { removeLeftBehind } from './scratch-worktree.ts';
import { type BisectEvent, type Search, type Subject, search } from './search.ts';
import { listVersions } from './versions.ts';

export type BisectInput = {
  readonly epicId: string;
  /** A gate's name, */
  readonly gate?: string;
  /** or a program and its arguments, run without a shell. */
  readonly command?: readonly string[];
  /** Names of checkpoints; by default the newest known to be good, and the newest with code. */
  readonly good?: string | undefined;
  readonly bad?: string | undefined;
  /** A shell line, run before each try. */
  readonly setup?: string | undefined;
  /** Ignored files and folders that the command needs, relative to `cwd`. */
  readonly copy?: readonly string[];
  /** Of one try; by default the gate's, and none for a command. */
  readonly timeout?: Millis | undefined;
  /** Forget what earlier calls found out? */
  readonly fresh?: boolean;
  /** The folder that a command runs in and that paths are relative to; the top of the working tree by default. */
  readonly cwd?: string;
  readonly onEvent?: (event: BisectEvent) => void;
  readonly signal?: AbortSignal;
};

/**
 * Finds the checkpoint that broke a gate or a command, by a binary search in a worktree of its own. Nothing of the
 * user's is touched. What was tried is on disk, so the same call continues after a crash; null if the signal stopped it.
 */
export async function bisect(input: BisectInput, where: Where = {}): Promise<BisectResult | null> {
  return using(where, async (orch) => {
    const began = orch.clock.elapsed();
    const request = await readRequest(orch, input);
    const { epic, subject, folder, setup, copy } = request;
    const command = subject.command;
    const name = nameSearch({ epic, command, folder, setup, copy, timeout: request.timeout });
    let result: BisectResult | null = null;
    const isOurs = await tryLock(orch, searchLock(orch, name), async () => {
      await removeLeftBehind(orch);
      const results = openResults(orch, name, input.fresh === true);
      const found = await search(orch, { ...request, results });
      if (found === null) return;
      result = await describeAnswer(orch, { ...found, epic, subject, results }, orch.clock.elapsed() - began);
    });
    if (isOurs) return result;
    throw new OrchError('SESSION_ACTIVE', 'the same search is running in another process', {
      hint: 'Wait for it, or stop it with Ctrl+C and run this command again: it continues there',
    });
  });
}

/** Everything of the request that can be wrong is checked before anything is written. */
async function readRequest(orch: Orch, input: BisectInput): Promise<Omit<Search, 'results'>> {
  const { worktree: top } = orch.repository;
  if (orch.git.name !== 'native')
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'bisecting needs git, and orch is running without it', {
      hint: 'Nothing was changed. Install git, or leave ORCH_ENGINE unset.',
    });
  if (top === null)
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no place for the code to be tried', {
      hint: 'Run it in a working tree',
    });
  const epic = parseEpicId(input.epicId);
  const cwd = resolve(top, input.cwd ?? '.');
  const subject = await readSubject(orch, input, top);
  const listed = await listVersions(orch, epic);
  const bounds = await chooseBounds(orch, {
    epic,
    gate: subject.gate,
    listed,
    good: input.good,
    bad: input.bad,
  });
  const newest = bounds.versions.at(-1);
  const copy: string[] = [];
  for (const path of input.copy ?? [])
    copy.push(await readCopy(orch, { path, cwd, top, tree: newest?.tree }));
  return {
    epic,
    subject,
    bounds,
    // A gate runs where `orch baseline` runs it.
    folder: subject.gate === null ? relative(top, cwd) : '',
    top,
    setup: input.setup ?? null,
    copy,
    timeout: input.timeout ?? subject.timeout,
    onEvent: input.onEvent ?? (() => {}),
    signal: input.signal,
  };
}

async function readSubject(orch: Orch, { gate, command }: BisectInput, top: string): Promise<Subject> {
  if (gate !== undefined && command !== undefined)
    throw new OrchError('USAGE', `a gate (${gate}) and a command were given`, {
      hint: 'Leave one of them out',
    });
  if (command !== undefined) {
    const [program = ''] = command;
    if (!program.includes('/') && !isInstalled(program))
      throw new OrchError('USAGE', `${program || 'the command'} cannot be run: it is not on the PATH`, {
        hint: "A shell line needs a shell: orch bisect -- sh -c 'LINE'",
      });
    return { gate: null, command, label: quoteForShell(command), timeout: null };
  }
  const gates = listGates(await orch.readConfig(), top);
  const found = gates.find(({ name }) => name === gate);
  if (found === undefined) throw noSuchGate(gate, gates);
  // Its fix would change the code that is to be judged.
  return { gate: found.name, command: found.run, label: found.name, timeout: found.timeout };
}

function noSuchGate(gate: string | undefined, gates: readonly Gate[]): OrchError {
  const names = gates.map(({ name }) => name);
  const near = gate === undefined ? null : findNearest(gate, names);
  const known = names.length === 0 ? 'There are no gates here.' : `Gates here: ${names.join(', ')}.`;
  const message =
    gate === undefined
      ? 'nothing to run: name a gate, or a command after --'
      : `no gate ${JSON.stringify(gate)}${near === null ? '' : `: did you mean ${near}?`}`;
  return new OrchError('USAGE', message, {
    hint: `${known} Or run any command: orch bisect -- COMMAND`,
    data: { gates: names },
  });
}

type CopyRequest = {
  readonly path: string;
  readonly cwd: string;
  readonly top: string;
  readonly tree: Search['bounds']['versions'][number]['tree'] | undefined;
};

/** Checks a path to copy, and returns it relative to the top. */
async function readCopy(orch: Orch, { path, cwd, top, tree }: CopyRequest): Promise<string> {
  const full = resolve(cwd, path);
  const inner = relative(top, full);
  const refuse = (why: string, hint: string) => new OrchError('USAGE', `--copy ${path}: ${why}`, { hint });
  if (inner === '' || inner.startsWith('..') || isAbsolute(inner) || /^\.git(\/|$)/.test(inner))
    throw refuse('it is not a file or folder inside this working tree', 'Name one that git ignores');
  if (statIfThere(full) === null)
    throw refuse('there is no such file or folder', 'Paths are relative to the current folder');
  const inSnapshot =
    tree && (await findEntry(orch.git, tree, Buffer.from(inner).toString('latin1')).catch(ignoreDamage));
  if (inSnapshot)
    throw refuse('the checkpoints have it already', 'Copy only what git ignores, such as node_modules');
  return inner;
}

/** A damaged tree is noticed when it is checked out. */
function ignoreDamage(error: unknown): null {
  if (hasCode(error, 'INTEGRITY')) return null;
  throw error;
}
