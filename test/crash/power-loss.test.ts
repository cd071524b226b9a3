import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runs } from '../support/depth.ts';
import { orchBin } from '../support/orch.ts';
import { cleanEnvironment, makeFolder } from '../support/repository.ts';

const script = fileURLToPath(new URL('../support/lose-power.js', import.meta.url));
const rounds = runs(9);

type Found = {
  readonly acknowledged: number;
  readonly inFlight: boolean;
  readonly spent: number;
  readonly damaged: readonly unknown[];
  readonly fsck: string;
  readonly next: number;
};

/** Only root can use loop devices. */
const canMount =
  process.platform === 'linux' &&
  spawnSync('unshare', [
    '-m',
    'sh',
    '-c',
    'test -e /dev/loop-control && command -v mkfs.ext4 && mount -t tmpfs none /mnt',
  ]).status === 0;

it.runIf(canMount)(
  'I2 I3: what was acknowledged is there after the power goes, on a real file system',
  () => {
    const folder = makeFolder();
    const ran = spawnSync('unshare', ['-m', process.execPath, script, folder, orchBin, String(rounds)], {
      env: cleanEnvironment(folder),
      encoding: 'utf8',
    });
    expect(ran.stderr).toBe('');
    const found: readonly Found[] = JSON.parse(ran.stdout);
    expect(found.length).toBeGreaterThan(rounds / 3);
    for (const [at, { acknowledged, inFlight, spent, damaged, fsck, next }] of found.entries()) {
      expect({ at, damaged, fsck }).toEqual({ at, damaged: [], fsck: '' });
      const possible = inFlight ? [acknowledged, acknowledged + 1] : [acknowledged];
      expect(possible, `power loss ${at}`).toContain(spent);
      expect(next).toBe(spent + 1);
    }
  },
);
