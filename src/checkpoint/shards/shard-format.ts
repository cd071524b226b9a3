import { isRecord } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { OrchError } from '../../errors.ts';
import { canonicalJson } from '../../state/canonical.ts';
import type { Entry, List } from '../../state/lists.ts';
import {
  type Counts,
  maxShardDepth,
  noCounts,
  type RecordCounts,
  type RunRecords,
} from '../../state/run-records.ts';
import type { Millis } from '../../types.ts';

/*
 * How a run's records are stored, in `runs/<run>/` beside the documents:
 *
 *   head.json                    format, depth, and how many records have which status
 *   tasks/all.jsonl              depth 0: one file
 *   tasks/3/f.jsonl              depth 2: by the first digits of the SHA-256 of the task's id
 *   effects/3/f.jsonl            an effect is in the branch of its task
 *
 * A line is one record, `{"key", "stamp", "value"}` as canonical JSON, sorted by key: equal records give equal bytes.
 */

/** The folder of all runs' records, beside the documents. */
export const runsFolder = 'runs';

export const headName = 'head.json';
const shardSuffix = '.jsonl';

/** The newest format; 1 is written as long as nothing of the run was undone, so that an older orch can read it. */
const format = 2;
const sinceFormat2: readonly string[] = ['undoing', 'undone'];

export type ShardHead = { readonly depth: number; readonly counts: RecordCounts };

/** The path of the shard with a task's records, below the run's folder. */
export function shardPath(list: keyof RunRecords, task: string, depth: number): string {
  const digits = depth === 0 ? ['all'] : [...hash('sha256', task).slice(0, depth)];
  return [list, ...digits].join('/') + shardSuffix;
}

/** The list that a path below the run's folder belongs to; null for other files. */
export function listOfPath(path: string): keyof RunRecords | null {
  const [, list] = /^(tasks|effects)\/(?:all|[0-9a-f](?:\/[0-9a-f]){0,2})\.jsonl$/.exec(path) ?? [];
  return list === 'tasks' || list === 'effects' ? list : null;
}

export function formatShard(list: List<unknown>): Buffer {
  const lines = Object.entries(list)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => `${canonicalJson({ ...entry, key })}\n`);
  return Buffer.from(lines.join(''));
}

/** Parses a shard; `INTEGRITY` if a line is no record. No record is newer than `clock`: it could never be replaced. */
export function parseShard(bytes: Buffer, where: string, clock: Millis): List<unknown> {
  const lines = bytes.toString('utf8').split('\n');
  if (lines.pop() !== '') throw broken(where, 'its last line is incomplete');
  const entries = lines.map((line, index): [string, Entry<unknown>] => {
    const entry = parseLine(line, clock);
    if (entry === null) throw broken(where, `line ${index + 1} is not a record`);
    return entry;
  });
  return Object.fromEntries(entries);
}

function parseLine(line: string, clock: Millis): [string, Entry<unknown>] | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isRecord(parsed)) return null;
  const { key, ...entry } = parsed;
  const { stamp, value } = entry;
  const isStamp =
    Array.isArray(stamp) &&
    stamp.length === 3 &&
    isTime(stamp[0], clock) &&
    typeof stamp[1] === 'string' &&
    isTime(stamp[2], Number.MAX_SAFE_INTEGER);
  const isValue = isRecord(value) && typeof value.status === 'string';
  return typeof key === 'string' && isStamp && isValue ? [key, entry as Entry<unknown>] : null; // just checked
}

function isTime(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most;
}

export function formatHead({ depth, counts }: ShardHead): Buffer {
  const statuses = Object.values(counts).flatMap((list) => Object.keys(list));
  const needed = statuses.some((status) => sinceFormat2.includes(status)) ? format : 1;
  return Buffer.from(`${JSON.stringify({ format: needed, depth, ...counts }, null, 1)}\n`);
}

/** Parses a run's head: first its format, because a newer one is refused, never half-read. */
export function parseHead(bytes: Buffer, where: string): ShardHead {
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw broken(where, 'it is not JSON');
  }
  if (!isRecord(parsed)) throw broken(where, 'it is not an object');
  const { format: found, depth, tasks = {}, effects = {} } = parsed;
  if (typeof found === 'number' && found > format)
    throw new OrchError(
      'FORMAT_UNSUPPORTED',
      `${where} has format ${found}; this orch reads up to ${format}`,
      {
        hint: 'Update orch, then run the same command again.',
        data: { where, format: found, supported: format },
      },
    );
  if (
    (found !== 1 && found !== format) ||
    !isTime(depth, maxShardDepth) ||
    !isCounts(tasks) ||
    !isCounts(effects)
  )
    throw broken(where, 'it is not the head of a run');
  return { depth: Number(depth), counts: { ...noCounts, tasks, effects } };
}

function isCounts(value: unknown): value is Counts {
  return isRecord(value) && Object.values(value).every((count) => isTime(count, Number.MAX_SAFE_INTEGER));
}

function broken(where: string, problem: string): OrchError {
  return new OrchError('INTEGRITY', `${where} is damaged: ${problem}`, {
    hint: 'The other records of the run are not affected. See what is: orch checkpoint verify',
    data: { where },
  });
}
