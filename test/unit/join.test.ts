import { expect, it } from 'vitest';
import { parseWriterId } from '../../src/ids.ts';
import { newest } from '../../src/state/join.ts';
import type { Entry } from '../../src/state/lists.ts';

it('of two entries that differ only in a field of a later orch, both clones take the same', () => {
  const stamp = [1, parseWriterId('w'), 2] as const;
  const [plain, later]: Entry<string>[] = [
    { value: 'x', stamp },
    { value: 'x', stamp, ...{ more: 1 } },
  ];
  if (plain === undefined || later === undefined) throw new Error('no entries');
  expect(newest(plain, later)).toEqual(newest(later, plain));
});
