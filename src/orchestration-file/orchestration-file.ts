import { join } from 'node:path';
import type { Stored } from '../checkpoint/store.ts';
import type { StorePorts } from '../checkpoint/tip.ts';
import type { OrchestrationFileUse } from '../config/load.ts';
import { hash } from '../digest.ts';
import { messageOf } from '../errors.ts';
import { hashObject } from '../git/objects/loose-objects.ts';
import { readTree } from '../git/objects/read-objects.ts';
import { formatTree } from '../git/objects/tree-object.ts';
import type { TreeChange } from '../git/worktree/tree-diff.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/disk.ts';
import type { Millis, Oid } from '../types.ts';
import type { Resumption } from './resumption.ts';

/* The user's ORCHESTRATION.yaml: read when a session starts, updated after each checkpoint. */

export const orchestrationFile = 'ORCHESTRATION.yaml';

export type OrchestrationPorts = StorePorts & {
  /** The top of the user's working tree, if there is one. */
  readonly worktree?: string | null;
  /** What the config allows orch to do with the file; by default everything. */
  readonly readOrchestrationFileUse?: () => Promise<OrchestrationFileUse>;
};

/** Loads the YAML code, but only if the file exists and the config allows this use of it. */
async function loadReader(
  { worktree, readOrchestrationFileUse }: OrchestrationPorts,
  use: Exclude<OrchestrationFileUse, 'off'> = 'read',
) {
  if (!worktree || statIfThere(join(worktree, orchestrationFile)) === null) return null;
  const allowed = (await readOrchestrationFileUse?.()) ?? 'write';
  if (allowed !== 'write' && allowed !== use) return null;
  return { root: worktree, ...(await import('./write-back.ts')) };
}

/** Names the latest checkpoint in the file. A failure is only reported, because the checkpoint already exists. */
export async function writeLatestCheckpoint(
  ports: OrchestrationPorts,
  { checkpoint, document }: Stored,
): Promise<void> {
  try {
    const reader = await loadReader(ports, 'write');
    if (reader === null) return;
    const context = readCurrent(document.state, 'contextWindow');
    const result = await reader.writeBack(ports, reader.root, {
      id: checkpoint.id,
      fillPercentage: context && Math.round(context.fill * 1_000) / 10,
      tier: context?.tier ?? null,
      at: Date.parse(checkpoint.timestamp),
    });
    if (!result.written)
      ports.report(`${orchestrationFile} does not name the latest checkpoint: ${result.reason}`);
  } catch (error) {
    ports.report(`${orchestrationFile} does not name the latest checkpoint: ${messageOf(error)}`);
  }
}

/**
 * Returns the tree without what orch writes into the file. Otherwise each checkpoint would be a change that triggers the
 * next one, and gate results would no longer match the code.
 */
export async function treeWithoutMark(ports: OrchestrationPorts, tree: Oid): Promise<Oid> {
  try {
    const reader = await loadReader(ports);
    return reader ? await replaceFile(ports, tree, reader.withoutMark) : tree;
  } catch (error) {
    ports.report(`orch's own changes to ${orchestrationFile} count as work: ${messageOf(error)}`);
    return tree;
  }
}

/** Leaves the file out of the changes if only the part orch writes differs. */
export async function dropMarkChange(
  ports: OrchestrationPorts,
  changes: readonly TreeChange[],
): Promise<TreeChange[]> {
  const own = changes.find(({ path }) => path === orchestrationFile);
  const reader = own?.from && own.to ? await loadReader(ports) : null;
  if (!own?.from || !own.to || reader === null) return [...changes];
  const [from, to] = await Promise.all(
    [own.from, own.to].map(async ({ oid }) => reader.withoutMark((await ports.git.readObject(oid)).bytes)),
  );
  return from && to?.equals(from) ? changes.filter((change) => change !== own) : [...changes];
}

/** The tree with the file's content changed; the same tree if there is no such file or no change. */
async function replaceFile(
  { git }: OrchestrationPorts,
  tree: Oid,
  change: (bytes: Buffer) => Buffer | null,
): Promise<Oid> {
  const entries = await readTree(git, tree, 'latin1');
  const entry = entries.find(({ name, mode }) => name === orchestrationFile && mode.startsWith('100'));
  const bytes = entry && change((await git.readObject(entry.oid)).bytes);
  if (!entry || !bytes) return tree;
  const oid = hashObject({ kind: 'blob', bytes }, git.format);
  const others = entries.filter((other) => other !== entry);
  return hashObject(formatTree([...others, { ...entry, oid }], 'latin1'), git.format);
}

/** Reads the file into facts, if it says something new. */
export async function readOrchestration(ports: OrchestrationPorts, state: State): Promise<Fact[]> {
  try {
    const reader = await loadReader(ports);
    const found = reader?.readOrchestrationYaml(reader.root, ports.clock.now());
    if (!found) return [];
    if (!('problem' in found)) return describeResumption(found, state, ports.clock.now());
    ports.report(`${orchestrationFile} could not be read: ${found.problem}`);
  } catch (error) {
    ports.report(`${orchestrationFile} could not be read: ${messageOf(error)}`);
  }
  return [];
}

/** Reads the file's pipelines, barriers and queue; null if it has none or can't be read. */
export async function readPlan(ports: OrchestrationPorts): Promise<Resumption['plan'] | null> {
  const reader = await loadReader(ports);
  const found = reader?.readOrchestrationYaml(reader.root, ports.clock.now());
  if (!found || 'problem' in found) return null;
  return Object.values(found.plan).some((steps) => steps.length > 0) ? found.plan : null;
}

const idPrefix = 'orchestration:';

function idOf(text: string): string {
  return `${idPrefix}${hash('sha256', text).slice(0, 8)}`;
}

/** Turns the file's content into facts; none if the state has them already. */
function describeResumption(found: Resumption, state: State, now: Millis): Fact[] {
  const { workflow, phase, status, nextStep, filesToRead, blockers, decisions, checkpoint } = found;
  const stated = { workflow, phase, status, nextStep };
  const digest = hash('sha256', JSON.stringify([stated, filesToRead, blockers, decisions])).slice(0, 16);
  if (readCurrent(state, 'resumptionState')?.digest === digest) return [];
  const blocking = new Map(blockers.map((text) => [idOf(text), text]));
  const gone = Object.entries(state.blockers).filter(
    ([id, { value }]) => id.startsWith(idPrefix) && value.resolvedAt === null && !blocking.has(id),
  );
  return [
    { kind: 'current_set', key: 'resumptionState', value: { ...stated, digest, at: checkpoint.at } },
    ...[...blocking].map(([id, text]): Fact => ({ kind: 'blocker', id, text, resolvedAt: null })),
    ...gone.map(([id, { value }]): Fact => ({ kind: 'blocker', id, text: value.text, resolvedAt: now })),
    ...decisions.map((text): Fact => ({ kind: 'decision', id: idOf(text), text, rationale: null })),
    ...filesToRead.map(({ path, priority, purpose }): Fact => {
      // Keep what is known about a file that was changed.
      const { change = 'read', added = null, removed = null } = lookUp(state.files, path)?.value ?? {};
      return { kind: 'file', path, change, added, removed, priority, why: purpose };
    }),
  ];
}
