import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { findVictims, kill, makeProofConvoy, openProof, type Victim } from '../support/convoy-proof.ts';
import { convoy, makeConvoyed, ranEnvironment } from '../support/convoys.ts';
import { isDeep, makeRandom, seed } from '../support/depth.ts';
import { orchBin, runOrch } from '../support/orch.ts';
import { cleanEnvironment, type TestRepository } from '../support/repository.ts';
import { startSupervisor } from '../support/supervised.ts';

const rounds: readonly (readonly Victim[])[] = [
  ['scheduler'],
  ['supervisor'],
  ['agent'],
  ['scheduler', 'supervisor', 'agent'],
  ['supervisor', 'agent'],
  ['scheduler', 'agent'],
];

/** Kills processes of a convoy at random moments, and resumes it, until it is done. Returns how many moments there were. */
async function killUntilDone(
  repository: TestRepository,
  chance: () => number,
  most: number,
): Promise<number> {
  const proof = await openProof(repository);
  let kills = 0;
  let last = '';
  for (let tries = 0; ; tries++) {
    expect(tries, `it does not end: ${last}`).toBeLessThan(most + 8);
    // A scheduler that was killed soon has begun its run in a journal only.
    const hasBegun = findHead(repository) !== null || last.includes('RESUME_NEEDED');
    const verb = hasBegun ? 'resume' : 'start';
    const runner = startSupervisor(repository, ['convoy', verb, 'plan.yaml', '--json'], {
      env: ranEnvironment(repository),
    });
    let isOver = false;
    const ended = runner.ended.then((status) => {
      isOver = true;
      return status;
    });
    while (!isOver && kills < most) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, chance() * 1_500))]);
      const victims = rounds[Math.floor(chance() * rounds.length)] ?? [];
      const found = victims.flatMap((victim) =>
        victim === 'scheduler' ? [runner.pid] : findVictims(repository, victim),
      );
      if (isOver || found.length === 0) continue;
      for (const pid of found) kill(pid);
      kills += 1;
      if (victims.includes('scheduler')) await ended;
      await proof.check();
    }
    const status = await ended;
    last = runner.stdout() + runner.stderr();
    await proof.check();
    if (status === 0) break;
    // Killed, or it waits: a worker died too often, or before it began. One that a dead scheduler began is adopted.
    expect(last).not.toContain('already has a running session');
    expect([null, 75], `${verb} ended with ${status}: ${runner.stderr()}`).toContain(status);
  }
  await proof.checkDone();
  return kills;
}

function findHead({ tryGit }: TestRepository): string | null {
  const { status, stdout } = tryGit('rev-parse', '--verify', '--quiet', 'refs/orchestration/epics/auth');
  return status === 0 ? stdout.trim() : null;
}

describe.skipIf(process.platform !== 'linux')('a convoy that is killed', () => {
  it('C1, C2, C3, C4, C5, C6: loses nothing and merges nothing twice, whichever of its processes dies when', async () => {
    const chance = makeRandom(71);
    const total = isDeep ? 300 : 8;
    let kills = 0;
    while (kills < total) kills += await killUntilDone(makeProofConvoy(), chance, isDeep ? 12 : 8);
    if (isDeep) console.log(`seed ${seed}: ${kills} kills`);
  }, 3_600_000);
});

describe.skipIf(process.platform !== 'linux')('convoy land that is killed', () => {
  it('C1: leaves the branch where it was or brings it where it belongs, and the next landing takes back what was cut off', async () => {
    const repository = makeConvoyed(
      'name: auth\nworker: { agent: sh ./agent.sh }\ntasks: [{ id: a, prompt: many files }]\n',
      'a) mkdir many; for n in $(seq 400); do echo $n > many/$n.txt; done; echo landed >> README;;',
    );
    expect(convoy(repository, 'start').status).toBe(0);
    const chance = makeRandom(72);
    await killLandings(repository, chance);
    // Now it is no fast-forward.
    repository.git('reset', '--quiet', '--hard', 'orch/auth/merged^');
    repository.write('own.txt', 'own\n');
    repository.git('add', 'own.txt');
    repository.git('commit', '--quiet', '--message', 'own');
    await killLandings(repository, chance);
  }, 3_600_000);
});

async function killLandings(repository: TestRepository, chance: () => number): Promise<void> {
  const old = repository.git('rev-parse', 'main');
  const land = () => startGroup(repository, ['convoy', 'land', 'plan.yaml', '-y']);
  const began = performance.now();
  expect(await land().ended).toBe(0);
  const usual = performance.now() - began;
  for (let round = 0; round < (isDeep ? 200 : 5); round++) {
    repository.git('reset', '--quiet', '--hard', old);
    repository.git('clean', '--quiet', '-fd', 'many');
    const landing = land();
    // Git is at work in the last part of the time; it dies together with orch.
    const timer = setTimeout(landing.kill, usual * (0.5 + chance() * 0.6));
    await landing.ended;
    clearTimeout(timer);
    checkLanded(repository, old);
    // The next one takes back what was cut off, and lands.
    const { status, stderr } = runOrch(repository, ['convoy', 'land', 'plan.yaml', '-y']);
    expect(status, stderr).toBe(0);
    expect(repository.git('status', '--porcelain')).toBe('?? plan.yaml');
    expect(repository.tryGit('merge-base', '--is-ancestor', 'orch/auth/merged', 'main').status).toBe(0);
  }
}

/** Starts an orch whose children can be killed with it. */
function startGroup(repository: TestRepository, args: readonly string[]) {
  const child = spawn(process.execPath, [orchBin, ...args], {
    cwd: repository.folder,
    env: cleanEnvironment(repository.home),
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { ended, kill: () => kill(-(child.pid ?? 0)) };
}

function checkLanded({ git, tryGit }: TestRepository, old: string): void {
  const main = git('rev-parse', 'main');
  const isLanded = tryGit('merge-base', '--is-ancestor', 'orch/auth/merged', main).status === 0;
  if (!isLanded) expect(main).toBe(old);
  expect(tryGit('symbolic-ref', 'HEAD').stdout.trim()).toBe('refs/heads/main');
}
