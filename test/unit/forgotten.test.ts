import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forgetAll, readForgotten } from '../../src/checkpoint/forgotten.ts';
import { parseOid } from '../../src/ids.ts';
import { realDisk } from '../../src/system/files.ts';

it('remembers where refs stood when they were let go, also past a line that was cut short', async () => {
  const home = join(mkdtempSync(join(tmpdir(), 'orch-forgotten-')), 'home');
  expect(readForgotten(home)).toEqual(new Map());
  const [one, two] = [parseOid('1'.repeat(40)), parseOid('2'.repeat(40))];
  await forgetAll({ disk: realDisk, home }, [{ ref: 'refs/orchestration/epics/e', oid: one }]);
  appendFileSync(join(home, 'forgotten'), `refs/orchestration/epics/e ${'3'.repeat(17)}`);
  await forgetAll({ disk: realDisk, home }, [{ ref: 'refs/orchestration/epics/e', oid: two }]);
  expect(readForgotten(home)).toEqual(new Map([['refs/orchestration/epics/e', new Set([one, two])]]));
});
