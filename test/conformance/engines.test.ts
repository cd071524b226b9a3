import { describe, expect, it } from 'vitest';
import type { GitEngine } from '../../src/git/engine.ts';
import { openIsomorphicEngine } from '../../src/git/isomorphic.ts';
import { openNativeEngine } from '../../src/git/native.ts';
import { openEngine } from '../../src/git/open-engine.ts';
import { discoverRepository } from '../../src/git/repository.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import { makeMemoryRepository, openMemoryEngine } from '../support/memory-engine.ts';
import { makeRepository } from '../support/repository.ts';
import { describeEngine } from './suite.ts';

const ports = (folder: string) => ({
  repository: discoverRepository(folder),
  disk: realDisk,
  clock: realClock,
  random: realRandom,
});

function onDisk(open: (folder: string) => GitEngine) {
  return () => {
    const { folder, git } = makeRepository();
    return { engine: open(folder), git };
  };
}

describeEngine(
  'native',
  onDisk((folder) => openNativeEngine(ports(folder))),
);
describeEngine(
  'isomorphic',
  onDisk((folder) => openIsomorphicEngine(ports(folder))),
);
describeEngine('memory', () => ({ engine: openMemoryEngine(makeMemoryRepository()), git: null }));

describe('the choice of an engine', () => {
  it('is git if it is installed', async () => {
    const { folder } = makeRepository();
    expect((await openEngine('auto', ports(folder))).name).toBe('native');
    expect((await openEngine('isomorphic', ports(folder))).name).toBe('isomorphic');
  });

  it('refuses repositories that isomorphic-git would damage', async () => {
    const { folder } = makeRepository('--object-format=sha256');
    await expect(openEngine('isomorphic', ports(folder))).rejects.toMatchObject({
      code: 'REPOSITORY_UNSUPPORTED',
    });
  });
});
