import { describe, expect, it } from 'vitest';
import { addFault, type HookFault } from '../../src/hooks/faults.ts';

const fault = (message: string, at = '2026-11-16T12:00:00Z') =>
  ({ at, agent: 'claude', event: 'tool', message }) as const;

describe('addFault', () => {
  it('counts the same fault, and says when it was last seen', () => {
    const once = addFault([], fault('broken'));
    const twice = addFault(addFault(once, fault('other')), fault('broken', '2026-11-16T12:05:00Z'));
    expect(twice).toEqual([
      { ...fault('broken', '2026-11-16T12:05:00Z'), count: 2 },
      { ...fault('other'), count: 1 },
    ]);
  });

  it('keeps the newest ten', () => {
    let faults: HookFault[] = [];
    for (let index = 1; index <= 25; index++) faults = addFault(faults, fault(`fault ${index}`));
    expect(faults.map(({ message }) => message)).toEqual(
      Array.from({ length: 10 }, (_, index) => `fault ${25 - index}`),
    );
  });
});
