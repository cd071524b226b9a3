import { describe, expect, it } from 'vitest';
import { type DocumentContent, maxDocumentBytes } from '../../src/checkpoint/document/document.ts';
import { fitDocument } from '../../src/checkpoint/document/fit-document.ts';
import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import { noEarlierEffects, planEffects } from '../../src/plan/effects/plan-effects.ts';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { listRuns } from '../../src/plan/run/known-runs.ts';
import { type Entry, emptyState } from '../../src/state/lists.ts';
import type { RunHead, RunPart } from '../../src/state/runs.ts';

const session = parseSessionId('sess-aaaa');

function makePlan(tasks: number): Plan {
  const lines = Array.from({ length: tasks }, (_, n) => {
    const effect = `{ id: effect-${n}, request: { url: "http://127.0.0.1:1/release/${n}", body: { n: ${n} } } }`;
    return `  - { id: task-${n}, run: make ${n}, effects: [${effect}] }\n`;
  });
  return parsePlan(`name: large\ntasks:\n${lines.join('')}`, 'p.yaml');
}

/** A part of a run in which everything was done. */
function makePart(plan: Plan, run: string, status: RunHead['status'], startedAt: number): RunPart {
  const tasks = plan.tasks.map(({ id, digest }) => [
    id,
    { status: 'succeeded', attempts: 1, digest, artifacts: [], at: startedAt },
  ]);
  const effects = planEffects(plan.tasks, run, noEarlierEffects).planned.map(({ record }) => {
    const { kind: _, run: __, id, content: ___, ...rest } = record;
    return [id, { ...rest, status: 'acknowledged', at: startedAt }];
  });
  const head = {
    plan: plan.name,
    digest: plan.digest,
    status,
    session,
    from: null,
    startedAt,
    endedAt: null,
    at: startedAt,
  };
  return { head, tasks: Object.fromEntries(tasks), effects: Object.fromEntries(effects) };
}

function makeContent(parts: { readonly [key: string]: RunPart }): DocumentContent {
  const runs = Object.entries(parts).map(([key, value], index): [string, Entry<RunPart>] => {
    return [key, { value, stamp: [index, parseWriterId('w'), 0] }];
  });
  // Only what takes room here matters.
  return {
    events: [],
    state: { ...emptyState, runs: Object.fromEntries(runs) },
  } as unknown as DocumentContent;
}

describe('the records of a run inside a document, as an older orch wrote them', () => {
  const plan = makePlan(200);

  it('stay complete while the run can be resumed; older entries make room', () => {
    const content = makeContent({
      'run-old1@sess-aaaa': makePart(plan, 'run-old1', 'succeeded', 1),
      'run-old2@sess-aaaa': makePart(plan, 'run-old2', 'failed', 2),
      'run-now1@sess-aaaa': makePart(plan, 'run-now1', 'running', 3),
      'run-now1@sess-bbbb': makePart(plan, 'run-now1', 'running', 3),
    });
    const { document, bytes } = fitDocument(content);
    expect(bytes.length).toBeLessThanOrEqual(maxDocumentBytes);
    const runs = listRuns(document.state);
    expect(
      runs.map(({ id, inDocument: { tasks, effects } }) => [
        id,
        Object.keys(tasks).length,
        Object.keys(effects).length,
      ]),
    ).toEqual([
      ['run-now1', 200, 200],
      ['run-old2', 0, 0],
      ['run-old1', 0, 0],
    ]);
  });

  it('keep an acknowledgement that only an earlier session knows of', () => {
    const later = makePart(plan, 'run-now1', 'running', 3);
    const unsure = { ...later.effects, 'effect-7': { ...later.effects['effect-7'], status: 'planned' } };
    const content = makeContent({
      'run-now1@sess-aaaa': makePart(plan, 'run-now1', 'running', 3),
      'run-now1@sess-bbbb': { ...later, effects: unsure as RunPart['effects'] },
      'run-x@sess-aaaa': makePart({ ...plan, name: 'other' }, 'run-x', 'succeeded', 1),
    });
    const [run] = listRuns(fitDocument(content).document.state);
    expect(run?.inDocument.effects['effect-7']?.status).toBe('acknowledged');
  });
});
