import { isDeepStrictEqual } from 'node:util';
import { quoteBrief } from '../../../src/checkpoint/brief/line-origins.ts';
import { generateResumeBrief } from '../../../src/checkpoint/brief/write-brief.ts';
import { composeCheckpoints } from '../../../src/checkpoint/compose.ts';
import {
  type CheckpointDocument,
  formatDocument,
  maxReadBytes,
  parseDocument,
  sealDocument,
} from '../../../src/checkpoint/document/document.ts';
import { formatMessage, parseMessage } from '../../../src/checkpoint/document/message.ts';
import { documentName, epicFolder, epicRef } from '../../../src/checkpoint/document/names-in-git.ts';
import { mergeHistory } from '../../../src/checkpoint/merge.ts';
import { readBase } from '../../../src/checkpoint/read-base.ts';
import { noShardEdits } from '../../../src/checkpoint/shards/edit-shards.ts';
import { totalUsage } from '../../../src/cost/ledger.ts';
import { append } from '../../../src/git/objects/append-commits.ts';
import { parseSessionId, parseWriterId } from '../../../src/ids.ts';
import { canonicalJson } from '../../../src/state/canonical.ts';
import { budgetOf } from '../../../src/state/current.ts';
import { join } from '../../../src/state/join.ts';
import type { State } from '../../../src/state/lists.ts';
import { realClock } from '../../../src/system/clock.ts';
import { realDisk } from '../../../src/system/disk.ts';
import { makeMemoryRepository, openMemoryEngine } from '../../support/memory-engine.ts';
import { must, mustBeShowable, type Target, type Verdict } from '../target.ts';
import { at, composed, draftOf, eventsOf, facts } from './epic.ts';

/** What is in the samples: a document without its checksum, which is added once it is mutated. */
export const samples = composed.map(({ document: { integrity: _, ...content } }) =>
  Buffer.from(JSON.stringify(content)),
);

/** The bytes with a right checksum in them, as whoever forges a document would add it. */
export function seal(bytes: Buffer): Buffer {
  const text = bytes.toString('utf8').trim();
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content !== 'object' || content === null || !text.endsWith('}')) return bytes;
    const { integrity: _, ...rest } = content as { integrity?: unknown };
    const { integrity } = sealDocument(rest as never); // whatever it is
    const comma = Object.keys(content).length > 0 ? ',' : '';
    return Buffer.from(`${text.slice(0, -1)}${comma}"integrity":${JSON.stringify(integrity)}}`);
  } catch {
    return bytes; // no JSON, or too deep for a checksum
  }
}

const good = composed.at(-1)?.document.state;

/** The figures of a ledger are whole and none is negative. */
export function mustBeMoney(state: State): void {
  const used = totalUsage(state.ledger);
  for (const [name, amount] of Object.entries(used))
    must(Number.isSafeInteger(amount) && Number(amount) >= 0, `${name} is ${amount}`);
}

const lineForged = /^[>\s]*FORGED/m;

export function mustBeBrief(document: CheckpointDocument, state: State): void {
  for (const reader of [null, parseWriterId('w-test')])
    for (const maxTokens of [undefined, 500]) {
      const brief = generateResumeBrief(
        { epicId: document.epicId, state, checkpoint: { ...document, gates: 'unknown' }, reader },
        maxTokens === undefined ? {} : { maxTokens },
      );
      mustBeShowable(brief.markdown, 'the brief');
      must(!lineForged.test(brief.markdown), 'a text begins no line of the brief');
      must(brief.tokens <= (maxTokens ?? 4_000), `the brief has ${brief.tokens} tokens`);
      for (const line of quoteBrief(brief.markdown, document.epicId).split('\n').slice(2, -3))
        must(/^>( |$)/.test(line), `the quoted brief has a line of its own: ${line}`);
    }
}

/** A repository with a document in it, as a stranger's sync would have brought it. */
export async function plant(document: CheckpointDocument, bytes: Buffer) {
  const repository = makeMemoryRepository();
  const git = openMemoryEngine(repository);
  const { epicId } = document;
  const cost = totalUsage(document.state.ledger).micros;
  const budget = budgetOf(document.state);
  const said = {
    ...document,
    cost,
    budget,
    gates: 'red' as const,
    head: document.gitCommit,
    agent: 'claude',
    notSaved: null,
  };
  const message = formatMessage(said, 'Session 3');
  const draft = {
    folder: epicFolder(epicId),
    edits: new Map([[documentName(document.id), bytes]]),
    message,
    authoredAt: at,
    committedAt: at,
  };
  const [theirs] = await append(git, { ref: epicRef(epicId), expected: null, parents: [], base: null }, [
    draft,
  ]);
  must(theirs !== undefined, 'a commit was written');
  return { repository, git, theirs };
}

const fresh = eventsOf(parseWriterId('w-test'), parseSessionId('sess-ijkl'), facts, 3);
const again = eventsOf(parseWriterId('w-stranger'), parseSessionId('sess-str4nger'), facts.slice(0, 20));

/** Everything orch does with an epic that came from elsewhere, without a terminal. */
async function useDocument(document: CheckpointDocument, bytes: Buffer): Promise<void> {
  if (good === undefined) throw new Error('no sample');
  const { epicId, state } = document;
  const one = join(good, state);
  must(canonicalJson(one) === canonicalJson(join(state, good)), 'join is commutative');
  must(canonicalJson(join(one, state)) === canonicalJson(one), 'join is idempotent');
  mustBeMoney(state);
  mustBeMoney(one);
  mustBeBrief(document, state);

  const { git, theirs } = await plant(document, bytes);
  const base = await readBase(git, epicId, theirs);
  must(base.saved !== null && base.damage.length === 0, 'what was taken can be read from its commit');
  for (const events of [fresh, again]) {
    const next = composeCheckpoints(
      epicId,
      base,
      draftOf(events),
      [documentName(document.id)],
      noShardEdits,
      () => 'abcdef',
    );
    for (const { document: made, commit } of next) await mustBeReadable(made, commit.message);
  }

  // The same epic was worked on here meanwhile.
  const [own] = await append(
    git,
    { ref: epicRef(epicId), expected: theirs, parents: [], base: null },
    composeCheckpoints(
      epicId,
      { parents: [], saved: null, state: good, seq: 7, damage: [] },
      draftOf(fresh),
      [],
      noShardEdits,
      () => 'ghjkmn',
    ).map(({ commit }) => commit),
  );
  must(own !== undefined, 'our own checkpoint was written');
  const { tip } = await mergeHistory(
    { git, disk: realDisk, clock: realClock, report: () => {} },
    epicId,
    theirs,
  );
  const merged = await readBase(git, epicId, tip);
  must(merged.saved !== null && merged.damage.length === 0, 'a merge can be read');
  mustBeMoney(merged.state);
  must(
    totalUsage(merged.state.ledger).micros >= totalUsage(good.ledger).micros,
    'a merge lowers nothing that was spent',
  );
}

export async function mustBeReadable(document: CheckpointDocument, message: string): Promise<void> {
  const bytes = formatDocument(document);
  must(bytes.length <= maxReadBytes, `a checkpoint of ${bytes.length} bytes was made`);
  const read = await parseDocument(bytes, 'what was made').catch((error: unknown) => {
    throw new Error(`must: what orch makes can be read: ${error instanceof Error ? error.message : error}`);
  });
  must(
    isDeepStrictEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(document))),
    'it is the same',
  );
  const said = parseMessage(message);
  must(said !== null, 'its message can be read');
  must(said.id === document.id && said.sessionNumber === document.sessionNumber, 'its message says the same');
  must(said.reason === document.reason, 'its reason is the same');
}

export const documentTarget: Target = {
  name: 'document',
  weight: 10,
  form: 'json',
  samples,
  run: async (input): Promise<Verdict> => {
    const bytes = seal(input);
    const document = await parseDocument(bytes, 'it');
    await useDocument(document, bytes);
    return 'accepted';
  },
};
