import { type Composed, composeCheckpoints, type Draft } from '../../../src/checkpoint/compose.ts';
import { nothing } from '../../../src/checkpoint/read-base.ts';
import { noShardEdits } from '../../../src/checkpoint/shards/edit-shards.ts';
import { noUsage } from '../../../src/cost/ledger.ts';
import { parseCheckpointId, parseEpicId, parseOid, parseSessionId, parseWriterId } from '../../../src/ids.ts';
import type { Event, Fact } from '../../../src/state/facts.ts';
import type { SessionId, WriterId } from '../../../src/types.ts';

/* An epic with something of every kind in it: what the samples are made of. */

export const epic = parseEpicId('x');
export const at = Date.parse('2026-11-16T10:00:00Z');
export const oid = parseOid('1'.repeat(40));
const id = parseCheckpointId('ckpt-00000005-abcd');
const usage = { ...noUsage, micros: 250_000, input: 10, output: 20, cacheRead: 5, cacheWrite: 1 };
const uuid = '3f0c3a1e-0000-4000-8000-000000000001';

export const facts: readonly Fact[] = [
  { kind: 'session_running' },
  { kind: 'budget_set', limit: 5_000_000 },
  { kind: 'current_set', key: 'currentTask', value: { text: 'Write it', status: 'in_progress' } },
  {
    kind: 'current_set',
    key: 'testState',
    value: { status: 'failed', passed: 1, failed: 1, total: 2, failing: ['a test'], text: 'one fails' },
  },
  { kind: 'current_set', key: 'lastGreen', value: { id, seq: 5, tree: oid } },
  { kind: 'current_set', key: 'asked', value: { text: 'Please do' } },
  { kind: 'current_set', key: 'lastMessage', value: { text: 'Done so far' } },
  { kind: 'current_set', key: 'compactSummary', value: { text: 'What was said' } },
  {
    kind: 'current_set',
    key: 'imported',
    value: { m: { micros: 1, input: 2, output: 3, cacheRead: 4, cacheWrite: 5, unpriced: 6 } },
  },
  { kind: 'current_set', key: 'meteredAgents', value: [uuid] },
  { kind: 'current_set', key: 'clearedRuns', value: { 'run-abcd': at } },
  { kind: 'current_set', key: 'agent', value: { name: 'claude', session: uuid, model: 'claude-opus-5' } },
  {
    kind: 'current_set',
    key: 'contextWindow',
    value: {
      tokens: 10,
      window: 200_000,
      fill: 0.1,
      tier: 'NOMINAL',
      source: 'default',
      agentSession: uuid,
      madeRoom: null,
    },
  },
  {
    kind: 'current_set',
    key: 'resumptionState',
    value: { workflow: 'w', phase: 'p', status: 's', nextStep: 'n', digest: 'd', at },
  },
  { kind: 'note', id: 'n1', text: 'a note' },
  { kind: 'tried', id: 't1', text: 'an attempt' },
  { kind: 'tried', id: 't2', text: 'another attempt', why: 'it loops' },
  { kind: 'question', id: 'q1', text: 'a question', answer: null, resolvedAt: null },
  { kind: 'question', id: 'q2', text: 'another', answer: 'yes', resolvedAt: at },
  { kind: 'blocker', id: 'b1', text: 'a blocker', resolvedAt: null },
  { kind: 'blocker', id: 'b2', text: 'another', resolvedAt: at },
  { kind: 'decision', id: 'd1', text: 'a decision', rationale: 'because' },
  { kind: 'file', path: 'src/a.ts', change: 'modified', added: 3, removed: 1, priority: 1, why: 'main' },
  { kind: 'file', path: 'src/b.ts', change: 'read', added: null, removed: null, priority: null, why: null },
  { kind: 'issue', id: 'i1', title: 'an issue', status: 'open', severity: 'high', location: 'src/a.ts:1' },
  { kind: 'issue', id: 'i2', title: null, status: 'done', severity: null, location: null },
  {
    kind: 'gate',
    name: 'test',
    status: 'failed',
    durationMs: 5,
    tree: oid,
    output: 'no',
    knownBefore: false,
  },
  { kind: 'gate', name: 'lint', status: 'passed', durationMs: 5, tree: oid, output: '', knownBefore: true },
  { kind: 'restored', checkpoint: { id, seq: 5 }, leftBehind: { id, seq: 6 }, paths: null, isUndo: false },
  { kind: 'restored', checkpoint: null, leftBehind: { id, seq: 7 }, paths: 2, isUndo: true },
  {
    kind: 'abandoned',
    from: { id, seq: 1 },
    upTo: { id, seq: 4 },
    recorded: [{ by: parseWriterId('w1'), after: 0, until: 1 }],
  },
  { kind: 'cost', model: null, usage },
  { kind: 'meter', model: 'claude-opus-5', usage: { ...usage, estimated: 10 } },
  {
    kind: 'run',
    run: 'run-abcd',
    plan: 'release',
    digest: 'd',
    status: 'resume_needed',
    session: parseSessionId('sess-abcd'),
    from: null,
    file: 'plan.yaml',
    startedAt: at,
    endedAt: null,
  },
  {
    kind: 'task',
    run: 'run-abcd',
    id: 'build',
    status: 'succeeded',
    attempts: 2,
    digest: 'd',
    artifacts: [{ path: 'dist/a', sha256: 'e', bytes: 3 }],
  },
  {
    kind: 'effect',
    run: 'run-abcd',
    id: 'tag',
    task: 'build',
    key: 'k',
    status: 'blocked',
    reason: 'no answer',
    digest: 'd',
    what: 'git tag',
  },
];

/** The events of a session that recorded these facts. */
export function eventsOf(
  writer: WriterId,
  session: SessionId,
  recorded: readonly Fact[],
  number = 1,
): Event[] {
  const started: Fact = { kind: 'session_started', number, agent: 'claude', parentSessionId: null };
  return [started, ...recorded].map((fact, index) => ({
    at: at + index * 1_000,
    by: writer,
    session,
    offset: index * 100,
    end: index * 100 + 100,
    fact,
  }));
}

export function draftOf(events: readonly Event[], more: Partial<Draft> = {}): Draft {
  const [first] = events;
  return {
    sessionId: first?.session ?? parseSessionId('sess-abcd'),
    writer: first?.by ?? parseWriterId('w-test'),
    trigger: 'manual',
    reason: 'a reason\n\nof two parts',
    events,
    at: at + 60_000,
    keep: 5,
    head: { commit: oid, branch: 'main' },
    snapshot: { commit: oid, tree: oid, leftOut: [{ path: 'big', reason: 'too large' }] },
    durable: Promise.resolve(),
    journals: [],
    runFiles: [],
    ...more,
  };
}

const stranger = eventsOf(parseWriterId('w-stranger'), parseSessionId('sess-str4nger'), facts);
const paused: Fact = { kind: 'session_paused', reason: 'lunch' };
const ours = eventsOf(parseWriterId('w-test'), parseSessionId('sess-efgh'), [...facts, paused], 2);

/** The stranger's checkpoint, and one of ours upon it. */
export const composed: readonly Composed[] = (() => {
  const random = () => 'abcdef';
  const first = composeCheckpoints(epic, nothing, draftOf(stranger), [], noShardEdits, random);
  const below = first.at(-1)?.document;
  if (below === undefined) throw new Error('no checkpoint');
  const base = { ...nothing, state: below.state, seq: below.seq };
  return [...first, ...composeCheckpoints(epic, base, draftOf(ours), [], noShardEdits, random)];
})();
