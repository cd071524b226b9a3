import { join } from 'node:path';
import type { Stored } from '../checkpoint/store.ts';
import { hash } from '../digest.ts';
import { hashObject } from '../git/objects.ts';
import { readTree } from '../git/read.ts';
import { formatTree } from '../git/tree.ts';
import type { TreeChange } from '../git/tree-diff.ts';
import type { Resumption } from '../integration/orchestration-state.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/files.ts';
import type { Millis, Oid, SessionId } from '../types.ts';
import type { EpicView } from './context.ts';
import { liftedTime } from './pending.ts';
import type { SessionPorts } from './record.ts';

/* The ORCHESTRATION.yaml at the top of a working tree: read when a session begins, written back to after checkpoints. */

export const orchestrationFile = 'ORCHESTRATION.yaml';
const file = orchestrationFile;

/** Nothing of YAML is loaded where there is no such file. */
async function loadReader({ worktree }: SessionPorts) {
  if (!worktree || statIfThere(join(worktree, file)) === null) return null;
  return { root: worktree, ...(await import('../integration/orchestration-yaml.ts')) };
}

function explain(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Writes into the file which checkpoint is the latest; what prevents it is reported, for the checkpoint stands. */
export async function markLatest(ports: SessionPorts, { checkpoint, document }: Stored): Promise<void> {
  try {
    const reader = await loadReader(ports);
    if (reader === null) return;
    const context = readCurrent(document.state, 'contextWindow');
    const result = await reader.writeBack(ports, reader.root, {
      id: checkpoint.id,
      fillPercentage: context && Math.round(context.fill * 1_000) / 10,
      tier: context?.tier ?? null,
      at: Date.parse(checkpoint.timestamp),
    });
    if (!result.written) ports.report(`${file} does not name the latest checkpoint: ${result.reason}`);
  } catch (error) {
    ports.report(`${file} does not name the latest checkpoint: ${explain(error)}`);
  }
}

/**
 * The tree by which work is told from none: as it is, but for what orch itself writes into the file. Otherwise each
 * checkpoint would be a change that calls for the next one, and would part the gates' results from the code.
 */
export async function treeOfWork(ports: SessionPorts, tree: Oid): Promise<Oid> {
  try {
    const reader = await loadReader(ports);
    return reader ? await replaceFile(ports, tree, reader.withoutMark) : tree;
  } catch (error) {
    ports.report(`what orch wrote into ${file} counts as a change: ${explain(error)}`);
    return tree;
  }
}

/** Of what differs, that which is work: the file itself is none where only what orch writes into it is another. */
export async function pickWork(ports: SessionPorts, changes: readonly TreeChange[]): Promise<TreeChange[]> {
  const own = changes.find(({ path }) => path === file);
  const reader = own?.from && own.to ? await loadReader(ports) : null;
  if (!own?.from || !own.to || reader === null) return [...changes];
  const [from, to] = await Promise.all(
    [own.from, own.to].map(async ({ oid }) => reader.withoutMark((await ports.git.readObject(oid)).bytes)),
  );
  return from && to?.equals(from) ? changes.filter((change) => change !== own) : [...changes];
}

/** The name of the tree in which the file is another; the same where there is no such file, or no other. */
async function replaceFile(
  { git }: SessionPorts,
  tree: Oid,
  change: (bytes: Buffer) => Buffer | null,
): Promise<Oid> {
  const entries = await readTree(git, tree, 'latin1');
  const entry = entries.find(({ name, mode }) => name === file && mode.startsWith('100'));
  const bytes = entry && change((await git.readObject(entry.oid)).bytes);
  if (!entry || !bytes) return tree;
  const oid = hashObject({ kind: 'blob', bytes }, git.format);
  const others = entries.filter((other) => other !== entry);
  return hashObject(formatTree([...others, { ...entry, oid }], 'latin1'), git.format);
}

/** What the file says where it says something else than it did when it was last read. */
export async function readOrchestration(ports: SessionPorts, state: State): Promise<Fact[]> {
  try {
    const reader = await loadReader(ports);
    const found = reader?.readOrchestrationYaml(reader.root, ports.clock.now());
    if (!found) return [];
    if (!('problem' in found)) return describeResumption(found, state, ports.clock.now());
    ports.report(`${file} could not be read: ${found.problem}`);
  } catch (error) {
    ports.report(`${file} could not be read: ${explain(error)}`);
  }
  return [];
}

/** The pipelines, barriers and queue the file has; null where it has none of them, or cannot be read. */
export async function readPlan(ports: SessionPorts): Promise<Resumption['plan'] | null> {
  const reader = await loadReader(ports);
  const found = reader?.readOrchestrationYaml(reader.root, ports.clock.now());
  if (!found || 'problem' in found) return null;
  return Object.values(found.plan).some((steps) => steps.length > 0) ? found.plan : null;
}

const idPrefix = 'orchestration:';

function idOf(text: string): string {
  return `${idPrefix}${hash('sha256', text).slice(0, 8)}`;
}

/** What an ORCHESTRATION.yaml says, as facts; none where the state has it already. */
export function describeResumption(found: Resumption, state: State, now: Millis): Fact[] {
  const { workflow, phase, status, nextStep, filesToRead, blockers, decisions, checkpoint } = found;
  const said = { workflow, phase, status, nextStep };
  const digest = hash('sha256', JSON.stringify([said, filesToRead, blockers, decisions])).slice(0, 16);
  if (readCurrent(state, 'resumptionState')?.digest === digest) return [];
  const blocking = new Map(blockers.map((text) => [idOf(text), text]));
  const gone = Object.entries(state.blockers).filter(
    ([id, { value }]) => id.startsWith(idPrefix) && value.resolvedAt === null && !blocking.has(id),
  );
  return [
    { kind: 'current_set', key: 'resumptionState', value: { ...said, digest, at: checkpoint.at } },
    ...[...blocking].map(([id, text]): Fact => ({ kind: 'blocker', id, text, resolvedAt: null })),
    ...gone.map(([id, { value }]): Fact => ({ kind: 'blocker', id, text: value.text, resolvedAt: now })),
    ...decisions.map((text): Fact => ({ kind: 'decision', id: idOf(text), text, rationale: null })),
    ...filesToRead.map(({ path, priority, purpose }): Fact => {
      // What is known of a file that was changed stays known.
      const { change = 'read', added = null, removed = null } = lookUp(state.files, path)?.value ?? {};
      return { kind: 'file', path, change, added, removed, priority, why: purpose };
    }),
  ];
}

/** A view with facts that a session is about to begin with, for the brief it gets. */
export async function withFacts(
  ports: SessionPorts,
  view: EpicView,
  session: SessionId,
  facts: readonly Fact[],
): Promise<EpicView> {
  if (facts.length === 0) return view;
  const by = await ports.identifyWriter();
  const at = liftedTime(ports.clock.now(), view.state, view.pending);
  const events = facts.map((fact, index) => ({ at, by, session, offset: index, end: index + 1, fact }));
  return { ...view, state: foldAll(view.state, events) };
}
