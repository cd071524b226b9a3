import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  checkCheckpointTrigger,
  completeSession,
  hasResumableContext,
  loadLatestCheckpoint,
  pauseSession,
  readStatus,
  recordBlocker,
  recordCost,
  recordNote,
  recordTask,
  resolveBlocker,
  resumeSession,
  type SessionConfig,
  startSession,
} from '../../src/index.ts';
import { cleanEnvironment, makeRepositoryWithCommit } from '../support/repository.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** As the seed prints it. */
const printed = `
import { startSession, pauseSession, resumeSession } from '@create-something/orchestration';

const config = { epicId: 'my-feature', resume: false, budget: 5.0, background: false };
const { session, context, resumeBrief } = await startSession(config);
await pauseSession(session, context, 'End of day');
const resumed = await resumeSession('my-feature');
console.log(JSON.stringify({ session, context, resumeBrief, resumed }));
`;

describe('the library, as a program uses it', () => {
  it('works as the seed prints it, from the package', () => {
    const repository = makeRepositoryWithCommit();
    const scope = join(repository.folder, 'node_modules', '@create-something');
    mkdirSync(scope, { recursive: true });
    symlinkSync(root, join(scope, 'orchestration'));
    writeFileSync(join(repository.folder, 'program.mjs'), printed);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['program.mjs'], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const { session, context, resumeBrief, resumed } = JSON.parse(stdout);
    expect(session).toMatchObject({ epicId: 'my-feature', number: 1, status: 'running', checkpointCount: 1 });
    expect(context).toMatchObject({
      sessionId: session.id,
      budget: { limitUsd: 5, spentUsd: 0, level: 'ok' },
    });
    expect(resumeBrief).toBeNull();
    expect(resumed.session).toMatchObject({ number: 2, status: 'running', parentSessionId: session.id });
    expect(resumed.resumeBrief).toContain('End of day');
    const log = repository.git('log', '--format=%s', 'orchestration/epics/my-feature');
    expect(log.split('\n')).toHaveLength(3);
  });

  it('records, warns at 80%, stops at 100%, and resumes with more money only', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const where = { cwd };
    const config: SessionConfig = { epicId: 'x', budget: 1, agent: 'robot' };
    const { session } = await startSession(config, where);
    await recordNote(session, 'The form works', where);
    await recordTask(session, 'Redirect', {}, where);
    await recordBlocker(session, 'No access to staging', where);
    expect(await recordCost(session, 0.5, {}, where)).toMatchObject({ warnings: [], stop: null });
    const warned = await recordCost(session, 0.3, { model: 'm' }, where);
    expect(warned.warnings).toEqual([{ kind: 'budget', spentUsd: 0.8, limitUsd: 1 }]);
    expect(warned.checkpoint?.trigger).toBe('cost');
    expect((await recordCost(session, 0.1, {}, where)).warnings).toEqual([]);
    const stopped = await recordCost(session, '0.25', {}, where);
    expect(stopped.stop).toEqual({ kind: 'budget', spentUsd: 1.15, limitUsd: 1 });
    expect(stopped.checkpoint?.trigger).toBe('budget');
    expect(await readStatus('x', where)).toMatchObject({
      session: { status: 'budget_exceeded', agent: 'robot', costUsd: 1.15 },
      budget: { level: 'exceeded', percent: 115 },
    });
    await expect(resumeSession('x', {}, where)).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    await expect(resumeSession('x', { budget: 1.1 }, where)).rejects.toMatchObject({
      code: 'BUDGET_REFUSED',
    });
    const resumed = await resumeSession('x', { budget: '+1' }, where);
    expect(resumed.resumeBrief).toContain('**Now:** Redirect');
    expect(resumed.resumeBrief).toContain('No access to staging');
    await resolveBlocker(resumed.session, 'staging', where);
    const { session: done } = await completeSession(resumed.session, resumed.context, 'Shipped', where);
    expect(done).toMatchObject({ status: 'completed', number: 2 });
    const latest = await loadLatestCheckpoint('x', where);
    expect(latest?.checkpoint).toMatchObject({ trigger: 'complete', reason: 'Shipped' });
    expect(latest && hasResumableContext(latest.document.state)).toBe(true); // the task is not done
  });

  it('makes the checkpoints the policy has on, when it is asked to look', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const where = { cwd };
    const { session, context } = await startSession({ epicId: 'x' }, where);
    expect(await checkCheckpointTrigger(session, context, null, where)).toBeNull();
    expect(await checkCheckpointTrigger(session, context, 'issue_complete', where)).toBeNull();
    expect(await checkCheckpointTrigger(session, context, 'error', where)).toMatchObject({
      trigger: 'error',
    });
    await expect(startSession({ epicId: 'x' }, where)).rejects.toMatchObject({ code: 'SESSION_ACTIVE' });
    await pauseSession(session, context, null, where);
    expect((await startSession({ epicId: 'x' }, where)).session.number).toBe(2);
  });
});
