import { describe, expect, it } from 'vitest';
import { hasCheckpoints } from '../../src/index.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';

import { crashPoints } from '../support/depth.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';
import { cost, epic, makeFastClock, note, readBack, saveFacts } from '../support/store.ts';

const ref = `refs/orchestration/epics/${epic}`;

/** The rival would queue behind the one it is to interfere with; to this one ten seconds are soon over. */
const impatient = () => ({ elapsed: makeFastClock().elapsed });

/** A disk that takes only half of its n-th write, and says nothing about it. */
function makeFullDisk(at: number): { disk: Disk; wasFull(): boolean } {
  let writes = 0;
  const write = (fd: number, bytes: Uint8Array) => {
    writes += 1;
    return realDisk.write(fd, writes === at ? bytes.subarray(0, bytes.length >> 1) : bytes);
  };
  return { disk: { ...realDisk, write }, wasFull: () => writes >= at };
}

describe.each(['native', 'isomorphic'] as const)('bad luck in a save (%s engine)', (engine) => {
  it('I3 I10: a disk that is full at any write is said, and nothing is lost or counted twice', async () => {
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    await saveFacts({ cwd, engine }, [note('first'), cost(1_000)]);
    const saved = ['first'];
    for (const at of crashPoints(2)) {
      const { disk, wasFull } = makeFullDisk(at);
      const id = `n${at}`;
      const outcome = await saveFacts({ cwd, engine, disk }, [note(id), cost(1)]).then(
        () => 'saved',
        (error) => error,
      );
      if (outcome !== 'saved') {
        expect(outcome).toMatchObject({ code: 'WRITE_FAILED', hint: expect.stringContaining('space') });
      }
      saved.push(id);
      if (!wasFull()) break;
    }
    await saveFacts({ cwd, engine }, [note('last')]);
    const { notes, costUsd, damaged } = await readBack({ cwd, engine });
    expect(damaged).toBe(0);
    // What reached its journal before the disk was full comes with the next checkpoint; what did not was refused.
    expect(new Set(notes).size).toBe(notes.length);
    expect(notes.filter((id) => !saved.includes(id))).toEqual(['last']);
    expect(costUsd).toBe((1_000 + notes.length - 2) / 1_000_000);
    expect(repository.git('fsck', '--strict', '--no-dangling')).toBe('');
  });

  it.each([
    [
      'moved on',
      ['one', 'two', 'rival', 'three'],
      async (cwd: string) => void (await saveFacts({ cwd, engine, clock: impatient() }, [note('rival')])),
    ],
    [
      'rewound',
      ['one', 'three'],
      async (_: string, git: (...args: string[]) => string) => void git('update-ref', ref, `${ref}~1`),
    ],
    [
      'deleted',
      ['three'],
      async (_: string, git: (...args: string[]) => string) => void git('update-ref', '-d', ref),
    ],
  ])(
    'I4: a ref that was %s between reading and writing is drafted upon again',
    async (_, expected, interfere) => {
      const repository = makeRepositoryWithCommit();
      const cwd = repository.folder;
      await saveFacts({ cwd, engine }, [note('one')]);
      await saveFacts({ cwd, engine }, [note('two')]);
      let interfered = false;
      await saveFacts(
        {
          cwd,
          engine,
          wrapEngine: (git) => ({
            ...git,
            writeObjects: async (objects) => {
              await git.writeObjects(objects);
              if (interfered) return;
              interfered = true;
              await interfere(cwd, repository.git);
            },
          }),
        },
        [note('three')],
      );
      expect(await hasCheckpoints(epic, { cwd, engine })).toBe(true);
      const { notes } = await readBack({ cwd, engine });
      // A journal that is still here brings its events back, even those a rewound ref let go of.
      expect(notes).toEqual(expect.arrayContaining(expected));
      expect(notes.filter((id) => id === 'three')).toHaveLength(1);
      expect(new Set(notes).size).toBe(notes.length);
    },
  );
});
