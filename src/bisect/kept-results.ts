import { join } from 'node:path';
import { amount, mapOf, oneOf, text, withFields } from '../checks.ts';
import { hash } from '../digest.ts';
import { lookUp } from '../keyed.ts';
import { listFolder, removeIfThere, statIfThere, type WritePorts } from '../system/disk.ts';
import { tryReadJson, writeJson } from '../system/json-file.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import type { Verdict } from './next-step.ts';

/** What running the command on a tree has shown. */
export type Outcome = {
  readonly verdict: Verdict;
  /** `exit status 1`, `timed out after 5m` */
  readonly why: string;
  readonly durationMs: Millis;
  /** The end of what it printed, without secrets. */
  readonly output: string;
};

/** The outcomes of a search, by tree. They are on disk as soon as they are known, so a search can be continued. */
export type KeptResults = {
  /** Was it found by an earlier call? */
  isEarlier(tree: Oid): boolean;
  get(tree: Oid): Outcome | undefined;
  add(tree: Oid, outcome: Outcome): Promise<void>;
  forget(): void;
};

/** Everything that can change an outcome, apart from the tree: a different search has results of its own. */
export type SearchKey = {
  readonly epic: EpicId;
  readonly command: string | readonly string[];
  readonly folder: string;
  readonly setup: string | null;
  readonly copy: readonly string[];
  readonly timeout: Millis | null;
};

type File = { readonly outcomes: { readonly [tree: string]: Outcome } };

const isFile = withFields<File>({
  outcomes: mapOf(
    withFields<Outcome>({
      verdict: oneOf<Verdict>('good', 'bad', 'skip'),
      why: text,
      durationMs: amount,
      output: text,
    }),
  ),
});

type ResultPorts = WritePorts & { readonly home: string };

const folderOf = ({ home }: Pick<ResultPorts, 'home'>) => join(home, 'bisect');

/** A name for a search that is the same whenever it is. */
export function nameSearch({ epic, command, folder, setup, copy, timeout }: SearchKey): string {
  return hash('sha256', JSON.stringify([epic, command, folder, setup, copy, timeout])).slice(0, 16);
}

/** The lock that keeps two calls from searching for the same at once. */
export function searchLock(ports: Pick<ResultPorts, 'home'>, name: string): string {
  return join(folderOf(ports), `${name}.lock`);
}

/** Searches whose results are kept; older ones are dropped. */
const mostKept = 20;

/** Opens the results of a search, as far as earlier calls came; with `isFresh`, none. */
export function openResults(ports: ResultPorts, name: string, isFresh: boolean): KeptResults {
  const path = join(folderOf(ports), `${name}.json`);
  const forget = () => void removeIfThere(ports.disk, path);
  if (isFresh) forget();
  const earlier = tryReadJson(path, isFile)?.outcomes ?? {};
  const outcomes = new Map(Object.entries(earlier));
  if (outcomes.size === 0) dropOldest(ports);
  return {
    isEarlier: (tree) => lookUp(earlier, tree) !== undefined && outcomes.get(tree) === lookUp(earlier, tree),
    get: (tree) => outcomes.get(tree),
    add: async (tree, outcome) => {
      outcomes.set(tree, outcome);
      await writeJson(ports, path, { outcomes: Object.fromEntries(outcomes) } satisfies File);
    },
    forget,
  };
}

function dropOldest(ports: ResultPorts): void {
  const folder = folderOf(ports);
  const paths = listFolder(folder).flatMap((name) => (name.endsWith('.json') ? [join(folder, name)] : []));
  const age = (path: string) => statIfThere(path)?.mtimeMs ?? 0;
  const newest = paths.map((path) => ({ path, at: age(path) })).sort((a, b) => b.at - a.at);
  for (const { path } of newest.slice(mostKept - 1)) removeIfThere(ports.disk, path);
}
