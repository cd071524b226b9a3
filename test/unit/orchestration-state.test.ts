import { describe, expect, it } from 'vitest';
import { type Resumption, readResumption } from '../../src/orchestration-file/resumption.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

function read(text: string): Resumption {
  const state = readResumption(text, now);
  if ('problem' in state) throw new Error(state.problem);
  return state;
}

const full = `
workflow:
  id: wf-1
  name: "Move to the new store"
  status: ACTIVE
pipelines:
  a:
    name: Build
    status: PHASE_2_PENDING
    current_phase: 2
    phases:
      - {id: 1, name: Design, status: COMPLETE, agents: [{id: a-1, status: COMPLETE}]}
      - {id: 2, name: Write, status: BLOCKED, blocked_by: barrier-1, agents: [{id: a-2, name: writer}]}
barriers:
  - {id: barrier-1, name: Exchange, status: PENDING, depends_on: [a.phase.1, b.phase.1]}
execution_queue:
  current_group: 1
  groups:
    - {id: 1, name: First, status: READY, agents: [a-1, b-1]}
    - {id: 2, status: BLOCKED, blocked_by: group-1, tasks: [exchange]}
blockers:
  active: [{id: BLK-1, description: "no access"}, "a plain one"]
next_actions:
  immediate: [{action: "Run phase 2"}]
resumption:
  next_step: "Write the adapter"
  files_to_read:
    - {path: PLAN.md, priority: 2, purpose: "the plan"}
    - LATER.md
    - {path: STATE.md, priority: 1}
  decisions:
    - {id: RD-1, decision: "Keep the old ids"}
  latest_checkpoint_id: ckpt-00000058-k3f9qz
  fill_percentage: 0.64
  tier: LOW
  checkpoint_timestamp: "2026-03-01T11:30:00Z"
`;

describe('what an ORCHESTRATION.yaml says', () => {
  it('is read in full', () => {
    expect(read(full)).toEqual({
      workflow: 'Move to the new store',
      phase: 'Write',
      status: 'ACTIVE',
      nextStep: 'Write the adapter',
      filesToRead: [
        { path: 'STATE.md', priority: 1, purpose: null },
        { path: 'PLAN.md', priority: 2, purpose: 'the plan' },
        { path: 'LATER.md', priority: null, purpose: null },
      ],
      blockers: ['BLK-1: no access', 'a plain one'],
      decisions: ['RD-1: Keep the old ids'],
      checkpoint: {
        id: 'ckpt-00000058-k3f9qz',
        fillPercentage: 0.64,
        tier: 'LOW',
        at: Date.parse('2026-03-01T11:30:00Z'),
      },
      age: 30 * 60_000,
      plan: {
        pipelines: [
          {
            name: 'Build',
            status: 'PHASE_2_PENDING',
            waitsFor: [],
            parts: [
              {
                name: 'Design',
                status: 'COMPLETE',
                waitsFor: [],
                parts: [{ name: 'a-1', status: 'COMPLETE', waitsFor: [], parts: [] }],
              },
              {
                name: 'Write',
                status: 'BLOCKED',
                waitsFor: ['barrier-1'],
                parts: [{ name: 'writer', status: null, waitsFor: [], parts: [] }],
              },
            ],
          },
        ],
        barriers: [{ name: 'Exchange', status: 'PENDING', waitsFor: ['a.phase.1', 'b.phase.1'], parts: [] }],
        queue: [
          {
            name: 'First',
            status: 'READY',
            waitsFor: [],
            parts: [
              { name: 'a-1', status: null, waitsFor: [], parts: [] },
              { name: 'b-1', status: null, waitsFor: [], parts: [] },
            ],
          },
          {
            name: '2',
            status: 'BLOCKED',
            waitsFor: ['group-1'],
            parts: [{ name: 'exchange', status: null, waitsFor: [], parts: [] }],
          },
        ],
      },
    });
  });

  it('may stand in its older places', () => {
    const text =
      'resumption:\n  current_state: "not started"\nnext_actions:\n  immediate: [{action: Begin}]\n';
    expect(read(text)).toMatchObject({ status: 'not started', nextStep: 'Begin', phase: null, age: null });
    const recovery =
      'resumption:\n  recovery_state: {current_phase: 3, next_step: Go, workflow_status: PAUSED}\n';
    expect(read(recovery)).toMatchObject({ phase: '3', status: 'PAUSED', nextStep: 'Go' });
  });

  it.each([
    '',
    '# nothing\n',
    'resumption:\n',
    'resumption: [1]\npipelines: 7\nbarriers: {}\nexecution_queue: x\nblockers: true\nworkflow: []\n',
    'resumption: {files_to_read: {a: 1}, decisions: [null, [], {}], checkpoint_timestamp: soon, tier: {}}\n',
    'pipelines: {a: null, b: [1]}\nbarriers: [null]\nnext_actions: {immediate: [{}]}\n',
  ])('is nothing where %j has none of it', (text) => {
    expect(read(text)).toMatchObject({
      workflow: null,
      phase: null,
      status: null,
      nextStep: null,
      filesToRead: [],
      decisions: [],
      checkpoint: { id: null, fillPercentage: null, tier: null, at: null },
      age: null,
    });
  });

  it('is cleaned and bounded: it ends up in what an agent reads', () => {
    const state = read(
      `resumption:\n  next_step: "a\\u001b[31m\\nb\\u202e"\n  decisions:\n${'    - again\n'.repeat(5_000)}  tier: ${'x'.repeat(9_000)}\n`,
    );
    expect(state.nextStep).toBe('a[31m b');
    expect(state.decisions).toHaveLength(100);
    expect(Buffer.byteLength(state.checkpoint.tier ?? '')).toBeLessThanOrEqual(500);
  });

  it('names a step by what it does, where it has no name', () => {
    const { plan } = read('execution_queue:\n  - task: t1\n    status: pending\n  - t2\n  - {agent: a}\n');
    expect(plan.queue.map(({ name }) => name)).toEqual(['t1', 't2', 'a']);
  });

  it('is no older than now, whatever clock wrote it', () => {
    expect(read('resumption: {checkpoint_timestamp: "2030-01-01T00:00:00Z"}').age).toBe(0);
    expect(read('%YAML 1.1\n---\nresumption: {checkpoint_timestamp: 2026-03-01T11:59:00Z}').age).toBe(60_000);
  });

  it.each([
    ['a: "', /line 1/],
    ['- a', /not a mapping/],
    ['a: 1\na: 2\n', /line 2: the key a appears twice/],
    ['a: 1\n---\nb: 2\n', /line 2: a second document/],
    [`a: ${'['.repeat(100_000)}`, /nested too deeply/],
  ])('is refused where it is broken: %.20j', (text, problem) => {
    expect(readResumption(text, now)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
