import { describe, expect, it, vi } from 'vitest';
import { endAfterwards } from '../support/background.ts';
import { useOwnProcesses } from '../support/hosted.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import { startSupervisor, waitUntil } from '../support/supervised.ts';

useOwnProcesses();

vi.setConfig({ testTimeout: 180_000 });

const takenOver =
  'Session 2 in another clone took over session 1: each now works without the other. See both: orch log m';

/** One clone runs session 1, another takes it over and pauses; then the first one pauses, with a file of its own. */
async function takeOver() {
  const hub = makeHub();
  const [first, second, third] = [cloneOf(hub, 'first'), cloneOf(hub, 'second'), cloneOf(hub, 'third')];
  const running = startSupervisor(first, ['start', '-e', 'm', '--no-baseline']);
  await waitUntil(() => runOrch(first, ['status']).stdout.includes('● session s1'));
  await syncIn(first);
  await syncIn(second);
  const work = ['sh', '-c', 'echo second > second.txt'];
  const taken = runOrch(second, ['resume', '-e', 'm', '--take-over', '--', ...work]);
  expect(taken.status, taken.stderr).toBe(0);
  await syncIn(second);
  // Git keeps times in whole seconds: what the first clone saves from now on is the newest.
  const savedIn = Math.floor(Date.now() / 1_000);
  await waitUntil(() => Math.floor(Date.now() / 1_000) > savedIn);
  return { first, second, third, running };
}

describe('a session that another clone took over', () => {
  it('learns of it, in its supervisor, its status and when it ends', async () => {
    const { first, running } = await takeOver();
    await syncIn(first);
    await waitUntil(() => running.stderr().includes(takenOver));
    expect(runOrch(first, ['status']).stdout).toMatch(/● session s1 \w+, taken over by s2/);
    expect(runOrch(first, ['session', 'status']).stdout).toMatch(
      /^taken over +by session 2 on \S+ \(w-\w+\)$/m,
    );
    const paused = runOrch(first, ['pause', '-e', 'm']);
    expect(paused).toMatchObject({ status: 0, stderr: expect.stringContaining(takenOver) });
    await running.ended;
    expect(running.stderr().split(takenOver)).toHaveLength(3); // once while it ran, once at its end
  });

  it('leaves code beside the other’s: resume names the newest, what is missing and how to get it', async () => {
    const { first, second, third, running } = await takeOver();
    first.write('first.txt', 'first\n');
    await syncIn(first);
    expect(runOrch(first, ['pause', '-e', 'm']).status).toBe(0);
    await running.ended;
    expect(runOrch(first, ['sync', '-y', '--no-snapshots']).status).toBe(0);

    const resume = ['resume', '-e', 'm', '--background', '--no-baseline'];
    endAfterwards(third, 'm');
    const without = runOrch(third, resume);
    expect(without.stderr).toContain(
      [
        '      Session 1 and session 2 ran at the same time, each on its own code.',
        '      The newest checkpoint is 4, from session 1.',
        '      Your files stay as they are: the code of ckpt 4 is not, or not completely, in this clone',
        '      Run orch sync in the clone that saved it, then here. To get its code: orch restore 4 -e m',
        '      Session 2 left checkpoint 3: compare it with your files: orch diff 3 -e m',
        '',
      ].join('\n'),
    );
    runOrch(third, ['pause', '-e', 'm']);

    await syncIn(first);
    await syncIn(second);
    const own = runOrch(second, ['resume', '-e', 'm', '--', 'true']);
    expect(own.stderr).toContain(
      [
        '      Session 1 and session 2 ran at the same time, each on its own code.',
        '      The newest checkpoint is 4, from session 1.',
        '      Your files stay as they are and differ from checkpoint 4 (2 files). To get its code: orch restore 4 -e m',
        '      Session 2 left checkpoint 3: compare it with your files: orch diff 3 -e m',
        '',
      ].join('\n'),
    );
    expect(orchJson(second, ['restore', '4', '-e', 'm', '-y'])).toMatchObject({
      changed: ['first.txt'],
      deleted: ['second.txt'],
    });
    // The next one has a single newest session again.
    expect(runOrch(second, ['resume', '-e', 'm', '--', 'true']).stderr).not.toContain('at the same time');
  });

  it('names a checkpoint by its id where both clones gave the same number', async () => {
    const { first, third, running } = await takeOver();
    first.write('first.txt', 'first\n');
    expect(runOrch(first, ['checkpoint', 'create', '-e', 'm']).status).toBe(0);
    expect(runOrch(first, ['pause', '-e', 'm']).status).toBe(0);
    await running.ended;
    await syncIn(first);
    await syncIn(third);
    const { stderr } = runOrch(third, ['resume', '-e', 'm', '--', 'true']);
    const [, command = ''] = /To get its code: orch (.*)/.exec(stderr) ?? [];
    expect(command).toMatch(/^restore ckpt-0*3-\w+ -e m$/);
    expect(orchJson(third, [...command.split(' '), '-y'])).toMatchObject({ changed: ['first.txt'] });
  });
});
