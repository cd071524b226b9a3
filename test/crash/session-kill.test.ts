import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { parseEpicId } from '../../src/ids.ts';
import { hasEnded } from '../../src/state/transition.ts';
import { makeRandom, runs as runsOf, seed } from '../support/depth.ts';
import { orchJson } from '../support/orch.ts';
import { expectOnce, listSupervisors, startRecorder, type Told } from '../support/recorders.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { readHistory } from '../support/sessions.ts';
import { epic, withOrch } from '../support/store.ts';

/** Is the process there, and not only waiting for its end to be noticed? */
function runs(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z';
  return !/\) [ZX]/.test(stat);
}

async function kill(pid: number): Promise<void> {
  if (runs(pid)) process.kill(pid, 'SIGKILL');
  await vi.waitFor(() => expect(runs(pid)).toBe(false), { timeout: 20_000, interval: 5 });
}

function startInBackground(repository: TestRepository, on: string, command = 'start'): void {
  orchJson(repository, ['session', command, '-e', on, '--background', '--no-baseline', '--budget', 'none']);
}

describe.runIf(process.platform === 'linux')('real sessions', () => {
  it('I2 I3 I4: supervisor and recorders killed at any moment lose nothing that was acknowledged', async () => {
    const rounds = runsOf(6);
    const random = makeRandom();
    const repository = makeRepositoryWithCommit();
    const told: Told[] = [];
    for (let round = 0; round < rounds; round++) {
      startInBackground(repository, epic, round % 2 ? 'resume' : 'start');
      const [supervisor = 0] = listSupervisors(repository);
      expect(runs(supervisor), `seed ${seed}, round ${round}`).toBe(true);
      const recorders = [
        startRecorder(repository, ['note', `n${round}`, '-e', epic]),
        startRecorder(repository, ['cost', `0.${String(1_000 + round).padStart(6, '0')}`, '-e', epic]),
        startRecorder(repository, ['cost', `0.${String(2_000 + round).padStart(6, '0')}`, '-e', epic]),
      ];
      await new Promise((resolve) => setTimeout(resolve, random() * 400));
      const victims = [supervisor, ...recorders.map((recorder) => recorder.process.pid ?? 0)];
      const doomed = victims.filter((pid) => pid === supervisor || random() < 0.6);
      for (const pid of random() < 0.5 ? doomed : doomed.reverse()) await kill(pid);
      for (const { status, stderr, told: said } of await Promise.all(recorders.map(({ ended }) => ended))) {
        // Killed, or all well: never a failure.
        expect([null, 0], `seed ${seed}, round ${round}: ${stderr}`).toContain(status);
        if (said) told.push(said);
      }
    }
    for (const _ of ['once', 'twice']) {
      startInBackground(repository, epic, 'resume');
      orchJson(repository, ['session', 'pause', '-e', epic]);
    }
    const { events, sessions } = await withOrch({ cwd: repository.folder }, readHistory);
    expectOnce(events, told);
    for (const { status } of Object.values(sessions)) expect(hasEnded(status)).toBe(true);
    expect(listSupervisors(repository)).toEqual([]);
    expect(repository.git('fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe('');
  });

  it('I4: eight recorders in one session and three more sessions beside it: each event once', async () => {
    const repository = makeRepositoryWithCommit();
    mkdirSync(join(repository.folder, '.orchestration'));
    repository.write('.orchestration/config.yaml', 'checkpoint:\n  interval: 1s\n');
    const epics = ['e', 'f', 'g', 'h'].map(parseEpicId);
    for (const on of epics) startInBackground(repository, on);
    const supervisors = listSupervisors(repository);
    expect(supervisors).toHaveLength(4);
    const told = new Map(epics.map((on): [string, Told[]] => [on, []]));
    const workers = ['e', 'e', 'e', 'e', 'e', 'e', 'e', 'e', 'f', 'g', 'h'].map(async (on, worker) => {
      for (let turn = 0; turn < 3; turn++) {
        const own = `${worker}${turn}`;
        const args = turn % 2 ? ['cost', `0.00${own.padStart(4, '1')}`] : ['note', own];
        const { status, stderr, told: said } = await startRecorder(repository, [...args, '-e', on]).ended;
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        if (turn % 2 === 0) expect(said).toMatchObject({ kind: 'note', text: own });
        if (said) told.get(on)?.push(said);
      }
    });
    await Promise.all(workers);
    for (const on of epics) {
      orchJson(repository, ['session', 'pause', '-e', on]);
      const { events } = await withOrch({ cwd: repository.folder }, (orch) => readHistory(orch, on));
      expectOnce(events, told.get(on) ?? []);
      expect(told.get(on)).toHaveLength(on === 'e' ? 24 : 3);
    }
    for (const pid of supervisors)
      await vi.waitFor(() => expect(runs(pid)).toBe(false), { timeout: 20_000, interval: 20 });
    expect(repository.git('fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe('');
  });
});
