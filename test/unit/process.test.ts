import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  checkProcess,
  findCaller,
  identifyThisProcess,
  readStat,
} from '../../src/system/process/identity.ts';
import { waitUntil } from '../support/supervised.ts';

const self = identifyThisProcess();
const isLinux = process.platform === 'linux';

describe('whether a process still runs', () => {
  it('is known for this one', () => {
    expect(checkProcess(self)).toBe('alive');
  });

  it.each([
    ['another host', { host: 'another' }, 'elsewhere'],
    ['another boot of this host', { boot: 'another' }, 'dead'],
    ['another container', { pidNamespace: 'another' }, 'elsewhere'],
    ['a pid that is not there', { pid: 4_194_999 }, 'dead'],
    ['a pid that is used again', { startedAt: '1' }, 'dead'],
  ] as const)('with %s', (_, differs, fate) => {
    expect(checkProcess({ ...self, ...differs })).toBe(fate);
  });

  it.runIf(isLinux)('is no for one that ended and was not asked for yet', async () => {
    // The shell's child ends at once; the shell became a program that never asks for it.
    const parent = spawn('sh', ['-c', 'sh -c "echo \\$\\$" & exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const pid = await new Promise<number>((resolve) => {
        parent.stdout.once('data', (chunk) => resolve(Number(chunk.toString())));
      });
      await waitUntil(() => readStat(pid)?.[0] === 'Z');
      const startedAt = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19] ?? null;
      expect(checkProcess({ ...self, pid, startedAt })).toBe('dead');
    } finally {
      parent.kill('SIGKILL');
    }
  });
});

it.runIf(isLinux)('who called through shells is the first that is none', async () => {
  const shell = spawn('sh', ['-c', 'sh -c "echo \\$\\$; read x; true"; true'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    const inner = await new Promise<number>((resolve) => {
      shell.stdout.once('data', (chunk) => resolve(Number(chunk.toString())));
    });
    expect(inner).not.toBe(shell.pid);
    expect(findCaller(inner)).toBe(process.pid);
    expect(findCaller(process.pid)).toBe(process.pid);
  } finally {
    shell.kill('SIGKILL');
  }
});
