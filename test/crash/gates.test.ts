import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Gate } from '../../src/gates/gate.ts';
import { type GateProgress, type GateRunOptions, runGates } from '../../src/gates/run-gates.ts';
import { cleanEnvironment, makeFolder } from '../support/repository.ts';

function gate(name: string, run: Gate['run'], more: Partial<Gate> = {}): Gate {
  return { name, run, fix: null, timeout: 60_000, ...more };
}

/** Runs gates in a folder of their own. */
async function runIn(folder: string, gates: readonly Gate[], more: Partial<GateRunOptions> = {}) {
  const redact = async (text: string) => text;
  return await runGates(gates, { cwd: folder, env: cleanEnvironment(folder), redact, ...more });
}

async function runOne(run: Gate['run'], more: Partial<Gate> = {}, options: Partial<GateRunOptions> = {}) {
  const [outcome] = await runIn(makeFolder(), [gate('test', run, more)], options);
  if (outcome === undefined) throw new Error('there is no outcome');
  return outcome;
}

function readPid(folder: string, name: string): number {
  return Number(readFileSync(join(folder, name), 'utf8'));
}

function runs(pid: number): boolean {
  expect(pid).toBeGreaterThan(1);
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z';
  return !/\) [ZX]/.test(stat);
}

const node = (script: string) => [process.execPath, '-e', script];

describe.runIf(process.platform === 'linux')('a gate', () => {
  it('passes or fails by its exit status, by shell and without', async () => {
    expect(await runOne('echo a; echo b >&2')).toMatchObject({ status: 'passed', fixed: false });
    expect(await runOne(['echo', '$HOME', ';'])).toMatchObject({ status: 'passed', output: '$HOME ;' });
    expect(await runOne('echo no; exit 3')).toMatchObject({
      status: 'failed',
      output: 'no\n\nexit status 3',
    });
    expect(await runOne('kill -SEGV $$')).toMatchObject({ status: 'failed', output: 'ended by SIGSEGV' });
  });

  it.each<[what: string, run: Gate['run'], says: RegExp]>([
    ['a program that is not executable', ['/dev/null'], /\/dev\/null: not executable/],
    ['no command', [], /no command to run/],
    ['an argument no program can get', ['echo', 'a\0b'], /could not be started/],
  ])('fails and says so for %s', async (_, run, says) => {
    const outcome = await runOne(run);
    expect(outcome.status).toBe('failed');
    expect(outcome.output).toMatch(says);
  });

  it.each<[what: string, run: Gate['run'], says: RegExp]>([
    ['a program that is missing', ['no-such-program-here', 'x'], /no-such-program-here: not found/],
    ['one the shell misses', 'no-such-program-here', /no-such-program-here.*not found\n\nits program is not/],
  ])('is skipped for %s: that says nothing of the code', async (_, run, says) => {
    const outcome = await runOne(run);
    expect(outcome.status).toBe('skipped');
    expect(outcome.output).toMatch(says);
  });

  it('fails and says so where the folder is missing', async () => {
    const outcome = await runOne(['echo'], {}, { cwd: '/no-such-folder' });
    expect(outcome).toMatchObject({
      status: 'failed',
      output: expect.stringContaining('no folder /no-such-folder'),
    });
  });

  it('has no input, no terminal, nothing of git in its environment, and the rest', async () => {
    const env = { ...cleanEnvironment('/nowhere'), GIT_DIR: '/x', GIT_INDEX_FILE: '/y', KEPT: 'yes' };
    const outcome = await runOne('cat; env | grep -c ^GIT_; echo "$KEPT[$CI]"; true </dev/tty', {}, { env });
    expect(outcome.output).toMatch(/^0\nyes\[\]\n.*\/dev\/tty/s);
  });

  it('that hangs is ended with all it started, daemons too', async () => {
    const folder = makeFolder();
    const script = `trap '' TERM; (trap '' TERM; sleep 1000) & echo $! >child
      (setsid sh -c 'echo $$ >daemon; exec sleep 1000' >/dev/null 2>&1 </dev/null &)
      while ! test -s daemon; do sleep 0.01; done; echo $$ >main; echo working; wait; sleep 1000`;
    const [outcome] = await runIn(folder, [gate('slow', script, { timeout: 3_000 })]);
    expect(outcome).toMatchObject({ status: 'timed_out', output: 'working\n\ntimed out after 3s' });
    expect(['main', 'child', 'daemon'].map((name) => runs(readPid(folder, name)))).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('that leaves something behind which holds its output open is not waited for', async () => {
    const folder = makeFolder();
    const [outcome] = await runIn(folder, [gate('test', 'sleep 1000 & echo $! >left; echo done')]);
    expect(outcome).toMatchObject({ status: 'passed', output: 'done' });
    expect(runs(readPid(folder, 'left'))).toBe(false);
  });

  it('that floods keeps the end of its output and costs no memory', async () => {
    const flood = node(`const mega = Buffer.alloc(1 << 20, 'abcdefgh\\n'); let count = 0;
      (function more() { if (count++ < 100) process.stdout.write(mega, more); else console.log('the end 😀'); })()`);
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss() - before);
    }, 10);
    const outcome = await runOne(flood);
    clearInterval(watch);
    expect(outcome.status).toBe('passed');
    expect(outcome.output).toMatch(/^….*the end 😀$/s);
    expect(outcome.output.length).toBeLessThanOrEqual(5_000);
    expect(outcome.output.length).toBeGreaterThan(4_990);
    expect(most).toBeLessThan(80 << 20);
  });

  it('that prints binary is shown as clean text', async () => {
    const { output } = await runOne(
      node(`process.stdout.write(Buffer.from([65, 0, 255, 254, 27, 91, 51, 49, 109, 66, 8, 10]))`),
    );
    expect(output).toBe('A\uFFFD\uFFFDB');
  });

  it('keeps characters whole that arrive in pieces', async () => {
    const { output } = await runOne(
      node(`const [a, b] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
        process.stdout.write(a, () => setTimeout(() => process.stdout.write(b), 50))`),
    );
    expect(output).toBe('é');
  });

  it('is repaired by its fix once, and run again', async () => {
    const folder = makeFolder();
    const phases: string[] = [];
    const onProgress = ({ name, phase }: GateProgress) => phases.push(`${name} ${phase}`);
    const fix = 'echo x >>fixes; touch fixed';
    const gates = [gate('lint', 'test -e fixed', { fix }), gate('never', 'echo bad; false', { fix })];
    const outcomes = await runIn(folder, gates, { onProgress });
    expect(outcomes).toMatchObject([
      { name: 'lint', status: 'passed', fixed: true },
      { name: 'never', status: 'failed', fixed: false, output: 'bad\n\nexit status 1' },
    ]);
    expect(readFileSync(join(folder, 'fixes'), 'utf8')).toBe('x\nx\n');
    expect(phases).toEqual([
      'lint started',
      'lint fixing',
      'lint ended',
      'never started',
      'never fixing',
      'never ended',
    ]);
  });

  it('says what its fix complained of where that failed too', async () => {
    const outcome = await runOne('echo bad; false', { fix: ['no-such-fixer'] });
    expect(outcome).toMatchObject({ status: 'failed', fixed: false });
    expect(outcome.output).toMatch(/^The fix failed:\n.*no-such-fixer: not found\n\nbad\n\nexit status 1$/s);
  });
});

describe.runIf(process.platform === 'linux')('several gates', () => {
  it('run at once, and their outcomes keep their order', async () => {
    // Each waits for the other: one after the other, neither would end.
    const meet = (mine: string, other: string) =>
      `touch ${mine}; while ! test -e ${other}; do sleep 0.01; done`;
    const gates = [
      gate('a', meet('a', 'b'), { timeout: 20_000 }),
      gate('b', meet('b', 'a'), { timeout: 20_000 }),
    ];
    const outcomes = await runIn(makeFolder(), gates, { jobs: 2 });
    expect(outcomes.map(({ name, status }) => [name, status])).toEqual([
      ['a', 'passed'],
      ['b', 'passed'],
    ]);
  });

  it('run those with a fix before, and builds after all others', async () => {
    const folder = makeFolder();
    const log = (name: string) => `echo ${name} >>log`;
    const gates = [
      gate('build', log('build')),
      gate('cargo:build', log('cargo:build')),
      gate('test', `sleep 0.1; ${log('test')}`),
      gate('lint', log('lint'), { fix: 'true' }),
    ];
    const outcomes = await runIn(folder, gates, { jobs: 4 });
    expect(outcomes.map(({ name }) => name)).toEqual(['build', 'cargo:build', 'test', 'lint']);
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('lint\ntest\nbuild\ncargo:build\n');
  });

  it.each([0, -1, Number.NaN, 1, 99])('all run with %s jobs, and none without gates', async (jobs) => {
    const outcomes = await runIn(makeFolder(), [gate('a', 'true'), gate('b', 'true')], { jobs });
    expect(outcomes.map(({ status }) => status)).toEqual(['passed', 'passed']);
    expect(await runIn(makeFolder(), [], { jobs })).toEqual([]);
  });

  it('stop when told to: what runs is ended, the rest is skipped', async () => {
    const folder = makeFolder();
    const stop = new AbortController();
    const running = runIn(
      folder,
      [gate('slow', 'echo $$ >pid; exec sleep 1000', { fix: 'touch fixed' }), gate('next', 'touch next')],
      {
        signal: stop.signal,
      },
    );
    await vi.waitFor(() => expect(readPid(folder, 'pid')).toBeGreaterThan(1), { timeout: 20_000 });
    stop.abort();
    expect(await running).toMatchObject([
      { name: 'slow', status: 'skipped', output: 'interrupted' },
      { name: 'next', status: 'skipped', output: 'interrupted', fixed: false },
    ]);
    expect(runs(readPid(folder, 'pid'))).toBe(false);
    expect(['fixed', 'next'].filter((name) => existsSync(join(folder, name)))).toEqual([]);
  });
});
