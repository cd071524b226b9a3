import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { checkProcess, identifyThisProcess, readStat } from '../../src/system/process.ts';

it.runIf(process.platform === 'linux')(
  'a process that ended is dead, though its parent never noticed',
  async () => {
    // The shell becomes a program that minds no children.
    const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 1000'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [line] = await once(parent.stdout, 'data');
      const pid = Number(line);
      const startedAt = readStat(pid)?.[19] ?? null;
      await vi.waitFor(() => expect(readStat(pid)?.[0]).toBe('Z'), { timeout: 10_000, interval: 5 });
      expect(checkProcess({ ...identifyThisProcess(), pid, startedAt })).toBe('dead');
      const alive = { ...identifyThisProcess(), pid: parent.pid ?? 0 };
      expect(checkProcess({ ...alive, startedAt: readStat(alive.pid)?.[19] ?? null })).toBe('alive');
    } finally {
      parent.kill('SIGKILL');
    }
  },
);
