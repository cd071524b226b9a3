import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDeletedRefs, recordDeletedRefs } from '../../src/checkpoint/deleted-refs.ts';
import { parseOid } from '../../src/ids.ts';
import { realDisk } from '../../src/system/disk.ts';

it('remembers the positions of deleted refs, even after a truncated line', async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'orch-forgotten-')), 'home');
  expect(readDeletedRefs(home)).toEqual(new Map());
  const [one, two] = [parseOid('1'.repeat(40)), parseOid('2'.repeat(40))];
  await recordDeletedRefs({ disk: realDisk, home }, [{ ref: 'refs/orchestration/epics/e', oid: one }]);
  appendFileSync(join(home, 'forgotten'), `refs/orchestration/epics/e ${'3'.repeat(17)}`);
  await recordDeletedRefs({ disk: realDisk, home }, [{ ref: 'refs/orchestration/epics/e', oid: two }]);
  expect(readDeletedRefs(home)).toEqual(new Map([['refs/orchestration/epics/e', new Set([one, two])]]));
});
