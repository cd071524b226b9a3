import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  checkCheckpointTrigger,
  cleanUp,
  completeSession,
  createSessionContext,
  decide,
  defaultPolicy,
  formatCheckpointSummary,
  generateEpicId,
  generateResumeBrief,
  generateSessionId,
  getBudgetStatus,
  hasResumableContext,
  isBudgetExceeded,
  listCheckpoints,
  listSessions,
  loadLatestCheckpoint,
  OrchError,
  type OrchestrationContext,
  pauseSession,
  readBrief,
  readCost,
  readCostReport,
  readStatus,
  recordCost,
  recordNote,
  resumeSession,
  runDoctor,
  type StoredCheckpoint,
  setBudget,
  shouldCheckpoint,
  startSession,
  updateSessionCost,
} from '../../src/index.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { waitUntil } from '../support/supervised.ts';

vi.setConfig({ testTimeout: 60_000 });

describe('a context', () => {
  it('is made with ids of its own, counts costs, warns at 80% once and stops at 100%', () => {
    const context = createSessionContext({ epicId: 'x', budget: 1 });
    expect(context).toMatchObject({ epicId: 'x', sessionNumber: 1, budget: { limitUsd: 1, spentUsd: 0 } });
    expect(generateSessionId()).toMatch(/^sess-\w{6}$/);
    expect(generateEpicId()).toMatch(/^epic-\w{6}$/);
    expect(createSessionContext().epicId).toMatch(/^epic-/);
    const half = updateSessionCost(context, 0.5);
    expect(half).toMatchObject({ warning: null, stop: null, context: { sessionCostUsd: 0.5 } });
    const most = updateSessionCost(half.context, 0.3);
    expect(most.warning).toEqual({ kind: 'budget', spentUsd: 0.8, limitUsd: 1 });
    expect(updateSessionCost(most.context, 0.1)).toMatchObject({ warning: null, stop: null });
    expect(isBudgetExceeded(most.context)).toBe(false);
    const gone = updateSessionCost(most.context, 0.25);
    expect(gone.stop).toEqual({ kind: 'budget', spentUsd: 1.05, limitUsd: 1 });
    expect(isBudgetExceeded(gone.context)).toBe(true);
    expect(getBudgetStatus(gone.context)).toMatchObject({ percent: 105, level: 'exceeded' });
    expect(() => updateSessionCost(gone.context, 0.01)).toThrow(OrchError);
    expect(() => updateSessionCost(context, Number.NaN)).toThrow('is not an amount of money');
    expect(context.sessionCostUsd).toBe(0);
  });

  it('carries the work: what was added to it is recorded once, however often it is handed over', async () => {
    const where = { cwd: makeRepositoryWithCommit().folder };
    const { session, context } = await startSession({ epicId: 'x', budget: 5 }, where);
    const worked: OrchestrationContext = {
      ...updateSessionCost(context, 0.75).context,
      currentTask: 'Redirect after login',
      filesModified: ['README'],
      issuesUpdated: [{ id: 'T1', title: 'Login', status: 'in_progress' }],
      testState: { status: 'failed', passed: 3, failed: 1, total: 4, failing: ['redirects'], text: null },
      decisions: [{ text: 'Server sessions', rationale: 'they can be revoked' }],
      notes: ['The form works'],
    };
    await checkCheckpointTrigger(session, worked, null, where);
    await checkCheckpointTrigger(session, worked, 'error', where);
    const more = updateSessionCost(worked, 0.25).context;
    await pauseSession(session, more, 'End of day', where);
    expect(await readStatus('x', where)).toMatchObject({ budget: { spentUsd: 1 }, session: { costUsd: 1 } });
    const stored: StoredCheckpoint | null = await loadLatestCheckpoint('x', where);
    const { state } = stored?.document ?? expect.fail();
    expect(Object.values(state.notes).map(({ value }) => value.text)).toEqual(['The form works']);
    expect(Object.values(state.decisions)).toHaveLength(1);
    expect(Object.keys(state.files)).toEqual(['README']);
    expect(Object.keys(state.issues)).toEqual(['T1']);
    const resumed = await resumeSession('x', {}, where);
    expect(resumed.context).toMatchObject({
      currentTask: 'Redirect after login',
      testState: { failed: 1 },
      budget: { spentUsd: 1, limitUsd: 5 },
      sessionCostUsd: 0,
    });
    expect(resumed.resumeBrief).toContain('Server sessions');
    await expect(completeSession(resumed.session, worked, null, where)).rejects.toMatchObject({
      code: 'USAGE',
    });
    await completeSession(resumed.session, resumed.context, null, where);
    expect(await readStatus('x', where)).toMatchObject({ budget: { spentUsd: 1 } });
  });
});

describe('a session of a program', () => {
  it('has the timer, which ends with it', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder, settings: { policy: { ...defaultPolicy, interval: 300 } } };
    const { session, context } = await startSession({ epicId: 'x' }, where);
    const triggers = async () => (await listCheckpoints('x', {}, where)).map(({ trigger }) => trigger);
    repository.write('work.txt', 'one\n');
    await waitUntil(async () => (await triggers()).includes('interval'));
    await pauseSession(session, context, null, where);
    repository.write('work.txt', 'two\n');
    const before = await triggers();
    // Another one's timer has the same interval and begins later.
    const other = await startSession({ epicId: 'y' }, where);
    repository.write('work.txt', 'three\n');
    await waitUntil(async () =>
      (await listCheckpoints('y', {}, where)).some(({ trigger }) => trigger === 'interval'),
    );
    await pauseSession(other.session, other.context, null, where);
    expect(await triggers()).toEqual(before);
  });

  it('runs in the background with a process of its own, and is ended from here', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder };
    const { session, context } = await startSession({ epicId: 'x', background: true, budget: 3 }, where);
    expect(session).toMatchObject({ number: 1, status: 'running' });
    const live = join(repository.folder, '.git/orchestration/live', `${session.id}.json`);
    expect(existsSync(live)).toBe(true);
    await recordNote(session, 'from the program', where);
    await expect(startSession({ epicId: 'x', background: true }, where)).rejects.toMatchObject({
      code: 'SESSION_ACTIVE',
      hint: expect.any(String),
    });
    const { context: worked } = updateSessionCost(context, 0.5);
    const ended = await pauseSession(session, worked, 'Enough', where);
    expect(ended).toMatchObject({
      session: { status: 'paused', costUsd: 0.5 },
      checkpoint: { reason: 'Enough' },
    });
    expect(existsSync(live)).toBe(false);
    const resumed = await resumeSession('x', { background: true }, where);
    expect(resumed.resumeBrief).toContain('from the program');
    await completeSession(resumed.session, null, null, where);
  });
});

describe('functions fit together', () => {
  it('a brief and a decision are made from what others return', async () => {
    const where = { cwd: makeRepositoryWithCommit().folder };
    const { session, context } = await startSession({ epicId: 'x', budget: 2 }, where);
    await recordNote(session, 'The form works', where);
    const recorded = await recordCost(session, 1.7, {}, where);
    expect(recorded.warnings).toEqual([{ kind: 'budget', spentUsd: 1.7, limitUsd: 2 }]);
    expect(getBudgetStatus(recorded).spentUsd).toBe(1.7);
    const latest = (await loadLatestCheckpoint('x', where)) ?? expect.fail();
    expect(generateResumeBrief(latest).markdown).toContain('The form works');
    expect(generateResumeBrief(latest, { maxTokens: 60 }).tokens).toBeLessThanOrEqual(60);
    expect(hasResumableContext(latest)).toBe(true);
    expect(formatCheckpointSummary(latest)).toMatch(/^ckpt 2 of x: /);
    expect(decide(defaultPolicy, latest)).toEqual({ checkpoint: null, warnings: [], stop: null });
    expect(shouldCheckpoint(defaultPolicy, latest)).toBeNull();

    const later = Date.now() + 16 * 60_000;
    expect(shouldCheckpoint(defaultPolicy, context, Date.now())).toBeNull();
    expect(shouldCheckpoint(defaultPolicy, context, later)).toBe('interval');
    expect(shouldCheckpoint(defaultPolicy, context, Date.now(), 'error')).toBe('error');
    expect(shouldCheckpoint(defaultPolicy, context, Date.now(), 'issue_complete')).toBeNull();
    const close = updateSessionCost(context, 1.7).context;
    expect(shouldCheckpoint(defaultPolicy, close, Date.now())).toBe('cost');
    expect(shouldCheckpoint(defaultPolicy, updateSessionCost(close, 1).context)).toBe('budget');
    await pauseSession(session, null, null, where);
  });

  it('sessions, brief, costs, upkeep and the doctor are there without the command line', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder };
    const { session } = await startSession({ epicId: 'x', budget: 2 }, where);
    await recordCost(session, 0.5, { model: 'm' }, where);
    await recordNote(session, 'The form works', where);
    await pauseSession(session, null, null, where);
    expect(await listSessions('x', where)).toMatchObject([{ number: 1, status: 'paused', costUsd: 0.5 }]);
    expect(await listSessions(null, where)).toHaveLength(1);
    expect(await readBrief('x', {}, where)).toMatchObject({
      markdown: expect.stringContaining('The form works'),
      from: { number: 1 },
    });
    expect(await readCost('x', where)).toMatchObject({
      budget: { spentUsd: 0.5 },
      byModel: [{ model: 'm' }],
    });
    expect(await readCostReport('x', {}, where)).toMatchObject({ totalUsd: 0.5, byDay: [{ costUsd: 0.5 }] });
    expect(await setBudget('x', '+3', where)).toMatchObject({ budget: { limitUsd: 3.5 } });
    expect(await cleanUp({ dryRun: true }, where)).toMatchObject({ removed: [], dryRun: true });
    const found = await runDoctor({}, where);
    expect(found.checks.filter(({ status }) => status === 'fail')).toEqual([]);
    const priced = { ...where, settings: { newEpicBudgetUsd: 7.5 } };
    const other = await startSession({}, priced);
    expect(other.context.budget.limitUsd).toBe(7.5);
    expect(other.session.epicId).toMatch(/^epic-/);
    await completeSession(other.session, null, null, where);
  });

  it('a wrong call is an OrchError, in a rejected promise', async () => {
    const repository = makeRepositoryWithCommit();
    const where = { cwd: repository.folder };
    const { session } = await startSession({ epicId: 'x' }, where);
    const anything = (value: unknown) => value as never; // what a program without types may hand over
    const calls: [string, () => Promise<unknown>][] = [
      ['EPIC_ID_INVALID', () => startSession({ epicId: 'a b' }, where)],
      ['EPIC_ID_INVALID', () => startSession({ epicId: anything(5) }, where)],
      ['USAGE', () => startSession(anything(undefined), where)],
      ['USAGE', () => startSession(anything({ epic: 'x' }), where)],
      ['USAGE', () => startSession({ epicId: 'y', checkpoint: '1' }, where)],
      ['USAGE', () => startSession({ epicId: 'y', budget: 'much' }, where)],
      ['USAGE', () => startSession({ epicId: 'y', budget: 'much', background: true }, where)],
      ['USAGE', () => pauseSession(anything(undefined), null, null, where)],
      ['USAGE', () => pauseSession(anything({ id: 'x', epicId: 'x' }), null, null, where)],
      ['USAGE', () => recordNote(session, anything(7), where)],
      ['USAGE', () => recordNote(session, '  ', where)],
      ['USAGE', () => recordCost(session, Number.NaN, {}, where)],
      ['USAGE', () => checkCheckpointTrigger(session, null, anything('sometimes'), where)],
      ['USAGE', () => cleanUp({ maxAgeDays: -1 }, where)],
      ['EPIC_NOT_FOUND', () => resumeSession('nothing', {}, where)],
      ['EPIC_NOT_FOUND', () => readBrief('nothing', {}, where)],
      ['NOT_A_REPOSITORY', () => readStatus('x', { cwd: repository.home })],
      ['EPIC_ID_INVALID', () => loadLatestCheckpoint(anything(null), where)],
    ];
    for (const [code, call] of calls) {
      const error = await call().then(
        () => null,
        (problem: unknown) => problem,
      );
      expect([call.toString(), error]).toEqual([call.toString(), expect.objectContaining({ code })]);
      expect(error).toBeInstanceOf(OrchError);
    }
    expect(() => generateResumeBrief(anything(null))).toThrow(OrchError);
    await pauseSession(session, null, null, where);
    rmSync(repository.folder, { recursive: true });
  });
});
