import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addExclude, removeExclude } from '../../src/init/plan-tools.ts';
import { type FileChange, writeChanges } from '../../src/init/write-changes.ts';

import { realRandom } from '../../src/system/clock.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';
import { makeFolder } from '../support/repository.ts';

const ports = { disk: realDisk, random: realRandom };

function changeOf(path: string, before: string | null, after: string | null): FileChange {
  return { path, name: path, before, after, meaning: '', ownsFolder: true };
}

function makeFiles() {
  const folder = makeFolder();
  const [old, fresh, last] = [join(folder, 'old'), join(folder, 'new', 'file'), join(folder, 'last')];
  writeFileSync(old, 'one');
  chmodSync(old, 0o600);
  writeFileSync(last, 'three');
  const changes = [changeOf(old, 'one', 'two'), changeOf(fresh, null, 'new'), changeOf(last, 'three', null)];
  return { folder, old, fresh, last, changes };
}

it('changes, makes and removes files, each with its mode', async () => {
  const { old, fresh, last, changes } = makeFiles();
  await writeChanges(ports, changes);
  expect([readFileSync(old, 'utf8'), readFileSync(fresh, 'utf8'), existsSync(last)]).toEqual([
    'two',
    'new',
    false,
  ]);
  expect(statSync(old).mode & 0o777).toBe(0o600);
});

it('takes everything back where a file was changed since it was looked at', async () => {
  const { folder, old, fresh, last, changes } = makeFiles();
  writeFileSync(last, 'somebody else’s');
  await expect(writeChanges(ports, changes)).rejects.toMatchObject({
    code: 'REF_CONFLICT',
    message: expect.stringContaining('meanwhile; nothing was changed'),
  });
  expect(readFileSync(old, 'utf8')).toBe('one');
  expect([existsSync(fresh), existsSync(join(folder, 'new'))]).toEqual([false, false]);
  expect(readFileSync(last, 'utf8')).toBe('somebody else’s');
});

it('takes everything back where the disk is full, and leaves no file of its own behind', async () => {
  const { old, fresh, changes } = makeFiles();
  const full: Disk = {
    ...realDisk,
    write: (fd, bytes) => (Buffer.from(bytes).equals(Buffer.from('new')) ? 0 : realDisk.write(fd, bytes)),
  };
  await expect(writeChanges({ ...ports, disk: full }, changes)).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    message: expect.stringContaining('could not be written (nothing was changed): the disk is full'),
  });
  expect(readFileSync(old, 'utf8')).toBe('one');
  expect(existsSync(fresh)).toBe(false);
});

it('does not overwrite a file that came into being meanwhile', async () => {
  const { fresh, changes } = makeFiles();
  mkdirSync(join(fresh, '..'));
  writeFileSync(fresh, 'theirs');
  await expect(writeChanges(ports, changes)).rejects.toMatchObject({ code: 'REF_CONFLICT' });
  expect(readFileSync(fresh, 'utf8')).toBe('theirs');
});

it.each([null, '', '# mine', '# mine\n', '/x\n', '/x\r\n*.o'])(
  'an exclude file of %j is the same again',
  (text) => {
    const added = addExclude(text, '/x');
    expect(added.split(/\r?\n/)).toContain('/x');
    expect(addExclude(added, '/x')).toBe(added);
    expect(removeExclude(added, '/x')).toBe(text || null);
    if (text !== null) expect(removeExclude(text, '/x')).toBe(text);
  },
);
