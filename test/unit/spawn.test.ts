import { describe, expect, it } from 'vitest';
import { run } from '../../src/system/process/capture.ts';
import { startCommand } from '../../src/system/process/command.ts';
import { runFilter } from '../../src/system/process/filter.ts';
import { reserveDescriptors } from '../../src/system/process/guard.ts';
import { readOutput, startDetached, startProcess, startWithPipes } from '../../src/system/process/spawn.ts';
import { hasLimits, withoutDescriptors } from '../support/limits.ts';

const { env } = process;
const outOfFiles = expect.objectContaining({
  code: 'SYSTEM_LIMIT',
  message: expect.stringContaining('too many files are open in this process'),
  data: { code: 'EMFILE' },
});

/** The outcome of a call. */
async function answer(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error;
  }
}

describe.runIf(hasLimits)('a process that cannot be started for want of descriptors', () => {
  it.each<[string, () => unknown]>([
    ['startProcess', () => startProcess('true', [], { stdio: 'pipe' })],
    ['startWithPipes', () => startWithPipes('true', [], '/', env)],
    ['startDetached', () => startDetached('true', [], '/', env)],
    ['readOutput', () => readOutput('true', [], env)],
    ['startCommand', () => startCommand(['true'], { cwd: '/', env, onOutput: () => {} })],
    ['reserveDescriptors', () => reserveDescriptors()],
  ])('is an error with a code, from %s', async (_, work) => {
    expect(await withoutDescriptors(() => answer(work))).toEqual(outOfFiles);
  });

  it('is reported when running gates, tasks and a status line', async () => {
    const request = { command: ['true'], cwd: '/', env, marker: 'A=1', timeout: 1_000, onOutput: () => {} };
    expect(await withoutDescriptors(() => run(request))).toEqual({
      how: 'not_started',
      isMissing: false,
      reason: 'true could not be started: too many files are open in this process',
    });
    const line = { line: 'true', input: '', cwd: '/', env, timeout: 1_000 };
    expect(await withoutDescriptors(() => answer(() => runFilter(line)))).toEqual(outOfFiles);
  });
});

it('does not crash when a program is missing, even without an error listener', async () => {
  const child = startProcess('/there/is/no/such/program', [], { stdio: 'pipe' });
  await new Promise((resolve) => child.once('close', resolve));
  expect(child.pid).toBeUndefined();
});
