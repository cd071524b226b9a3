import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasTmux, openTerminal } from '../agents/support/terminal.ts';
import { endAfterwards } from '../support/background.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { cleanEnvironment, type TestRepository } from '../support/repository.ts';
import { callOrch, startSupervisor, waitUntil } from '../support/supervised.ts';

const read = ({ folder }: TestRepository, path: string) => readFileSync(join(folder, path), 'utf8');

type Shown = { readonly checkpoint: { readonly snapshot: string } };

/** One clone worked on an epic and shared it; the other has heard of it. */
async function workElsewhere() {
  const hub = makeHub();
  const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
  const work = 'echo moved > pool.txt; echo half > left.txt';
  expect(runOrch(laptop, ['start', '-e', 'migrate', '--', 'sh', '-c', work]).status).toBe(0);
  await syncIn(laptop);
  await syncIn(desk);
  return { laptop, desk };
}

function resumeAtTerminal(repository: TestRepository, command: string) {
  const line = `${callOrch(`resume -e migrate -- ${command}`)}; echo "ended with $?"; exec cat`;
  const env = { ...cleanEnvironment(repository.home), TERM: 'xterm-256color', LANG: 'C.UTF-8' };
  return openTerminal(repository, 'sh', ['-c', line], env);
}

describe('a session that goes on from another machine’s', () => {
  it('says without a terminal how to get its code, and changes nothing', async () => {
    const { desk } = await workElsewhere();
    const resumed = runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']);
    expect(resumed.status).toBe(0);
    expect(resumed.stderr).toContain(
      'Your files stay as they are and differ from checkpoint 2 (2 files). To get its code: orch restore 2 -e migrate\n',
    );
    expect(desk.git('status', '--porcelain')).toBe('');
    const options = ['--background', '--no-baseline', '--checkpoint', '2'];
    endAfterwards(desk, 'migrate');
    const behind = runOrch(desk, ['resume', '-e', 'migrate', ...options]);
    expect(behind.stderr).toContain('To get its code: orch restore 2 -e migrate\n');
    runOrch(desk, ['session', 'pause', '-e', 'migrate']);
    expect(runOrch(desk, ['restore', '2', '-e', 'migrate', '-y']).status).toBe(0);
    expect(read(desk, 'pool.txt')).toBe('moved\n');
  });

  it('says nothing of it where the last session was this clone’s own, or the files are the same', async () => {
    const { laptop, desk } = await workElsewhere();
    writeFileSync(join(laptop.folder, 'pool.txt'), 'by hand\n');
    expect(runOrch(laptop, ['resume', '-e', 'migrate', '--', 'true']).stderr).not.toMatch(
      /(ckpt|checkpoint) 2\b/,
    );
    orchJson(desk, ['restore', '2', '-e', 'migrate', '-y']);
    await syncIn(desk);
    await syncIn(laptop);
    expect(runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']).stderr).not.toContain('Your files');
    await syncIn(desk);
    await syncIn(laptop);
    writeFileSync(join(laptop.folder, 'pool.txt'), 'moved\n');
    expect(runOrch(laptop, ['resume', '-e', 'migrate', '--', 'true']).stderr).toMatch(
      /Your files match checkpoint \d+\./,
    );
  });

  it('fetches the code where only the checkpoints were', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    runOrch(laptop, ['start', '-e', 'migrate', '--', 'sh', '-c', 'echo moved > pool.txt']);
    await syncIn(laptop);
    const resumed = runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']);
    expect(resumed.stderr).toContain('To get its code: orch restore 2 -e migrate');
    expect(orchJson(desk, ['restore', '2', '-e', 'migrate', '-y'])).toMatchObject({ changed: ['pool.txt'] });
  });

  it('says where HEAD was, where that is not where it is here', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    laptop.git('switch', '--quiet', '--create', 'feat/pool');
    laptop.write('pool.txt', 'moved\n');
    laptop.git('add', '.');
    laptop.git('commit', '--quiet', '--message', 'Not pushed');
    runOrch(laptop, ['start', '-e', 'migrate', '--', 'true']);
    await syncIn(laptop);
    expect(runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']).stderr).toMatch(
      /HEAD stays at [0-9a-f]{7}, 1 commit before ckpt 2 \([0-9a-f]{7}\)\. That was on feat\/pool; this is main\.\n/,
    );
  });

  it('goes on without it where it cannot be had', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    runOrch(laptop, ['start', '-e', 'migrate', '--', 'sh', '-c', 'echo moved > pool.txt']);
    runOrch(laptop, ['sync', '-y', '--no-snapshots']);
    const resumed = runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']);
    expect(resumed.status).toBe(0);
    expect(resumed.stderr).toContain('Your files stay as they are: the code of ckpt 2 is not');
  });

  it.runIf(hasTmux)('asks at a terminal, restores at Enter, and counts it as nobody’s work', async () => {
    const { desk } = await workElsewhere();
    const { snapshot } = orchJson<Shown>(desk, ['checkpoint', 'show', '2', '-e', 'migrate']).checkpoint;
    const command = `sh -c 'cat pool.txt; echo mine >> left.txt; cat .git/orchestration/live/*.json > ../live'`;
    const terminal = resumeAtTerminal(desk, command);
    await terminal.shows(
      'Its code is not here. Restore the snapshot of checkpoint 2 (2 files; your tree is clean)? [Y/n]',
    );
    terminal.press('Enter');
    await terminal.shows('Restored. Your previous files are saved as checkpoint 4.');
    await terminal.shows('moved');
    await terminal.shows('ended with 0');
    expect(read(desk, 'left.txt')).toBe('half\nmine\n');
    expect(JSON.parse(read(desk, '../live'))).toMatchObject({ base: snapshot });
    expect(runOrch(desk, ['restore', '--undo', '-y']).status).toBe(0);
    expect(desk.git('status', '--porcelain')).toBe('');
  });

  it.runIf(hasTmux)('asks first whether to take over, then for the code', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    laptop.write('pool.txt', 'moved\n');
    const running = startSupervisor(laptop, ['start', '-e', 'migrate', '--json']);
    await waitUntil(() => running.stdout().includes('\n'));
    await syncIn(laptop);
    const terminal = resumeAtTerminal(desk, 'cat pool.txt');
    await terminal.shows('Take over? [y/N]');
    terminal.press('y', 'Enter');
    await terminal.shows('Restore the snapshot of checkpoint 1 (1 file; your tree is clean)? [Y/n]');
    terminal.press('y', 'Enter');
    await terminal.shows('ended with 0');
    expect(terminal.screen()).toContain('\nmoved\n');
    running.signal('SIGTERM');
    await running.ended;
  });

  it.runIf(hasTmux)('leaves the files alone at a no', async () => {
    const { desk } = await workElsewhere();
    writeFileSync(join(desk.folder, 'mine.txt'), 'mine\n');
    const terminal = resumeAtTerminal(desk, 'true');
    await terminal.shows('(3 files; your changes are saved first)? [Y/n]');
    terminal.press('n', 'Enter');
    await terminal.shows('Your files stay as they are');
    await terminal.shows('ended with 0');
    expect(desk.git('status', '--porcelain')).toBe('?? mine.txt');
  });
});

describe('what several clones work on', () => {
  it('shows who runs elsewhere, also behind a session of this clone, and which clone each was in', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    const env = { ORCH_HOST: 'laptop.local' };
    const running = startSupervisor(laptop, ['start', '-e', 'migrate', '--json'], { env });
    await waitUntil(() => running.stdout().includes('\n'));
    await syncIn(laptop);
    await syncIn(desk);
    expect(runOrch(desk, ['status']).stdout).toContain('○ running on laptop.local ');
    expect(runOrch(desk, ['log']).stdout).not.toContain('laptop.local');
    const refused = runOrch(desk, ['resume', '-e', 'migrate', '--', 'true']);
    expect(refused.status).toBe(5);
    expect(refused.stderr).toMatch(
      /elsewhere: session 1 \(sess-\w+\) is recorded as running on laptop\.local, last seen/,
    );
    const here = { env: { ORCH_HOST: 'desk.local' } };
    expect(runOrch(desk, ['start', '-e', 'migrate', '--', 'true'], here).status).toBe(0);
    expect(runOrch(desk, ['status']).stdout).toContain('‖ paused, s1 elsewhere ');
    const log = runOrch(desk, ['log']).stdout;
    expect(log).toMatch(/^s2 .* on desk\.local/m);
    expect(log).toMatch(/^s1 .* on laptop\.local/m);
    expect(runOrch(desk, ['session', 'show', 's1']).stdout).toMatch(/^machine +laptop\.local$/m);
    expect(runOrch(desk, ['resume', '-e', 'migrate', '--take-over', '--', 'true']).status).toBe(0);
    running.signal('SIGTERM');
    await running.ended;
  });
});
