import { describe, expect, it, vi } from 'vitest';
import { expectSound } from '../support/checkpoints.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';

vi.setConfig({ testTimeout: 180_000 });

const spend = (repository: TestRepository, usd: string) =>
  expect(runOrch(repository, ['record', 'cost', usd, '-e', 'm']).status).toBe(0);

const spentIn = (repository: TestRepository) =>
  orchJson<{ budget: { spentUsd: number } }>(repository, ['cost', '-e', 'm']).budget.spentUsd;

const moneyCheck = (repository: TestRepository, ...args: string[]) => {
  const { checks } = JSON.parse(runOrch(repository, ['doctor', '--json', ...args]).stdout) as {
    checks: { name: string; status: string; evidence: string }[];
  };
  return checks.find(({ name }) => name === 'money');
};

describe('doctor', () => {
  it('notices a forced fetch that lowers the money, and brings back exactly what this clone remembers', async () => {
    const hub = makeHub();
    const laptop = cloneOf(hub, 'laptop');
    spend(laptop, '1');
    await syncIn(laptop);
    // The first call's journal is released by now; the last ones' are still there.
    for (const usd of ['2', '0.5', '0.25']) spend(laptop, usd);
    expect(moneyCheck(laptop)).toMatchObject({ status: 'ok' });
    laptop.git('fetch', '--quiet', 'origin', '+refs/orchestration/*:refs/orchestration/*');
    expect(spentIn(laptop)).toBeLessThan(3.75);
    const found = runOrch(laptop, ['doctor']);
    expect(found.status).toBe(1);
    expect(found.stdout).toMatch(/✗ money +m: \$\d\.\d\d, but checkpoint 4 had \$3\.75\n/);
    expect(runOrch(laptop, ['doctor', '--fix']).stdout).toMatch(/Repaired: .*money/);
    expect(spentIn(laptop)).toBe(3.75);
    expect(moneyCheck(laptop, '--fix')).toMatchObject({ status: 'ok' });
    expect(spentIn(laptop)).toBe(3.75);
    spend(laptop, '0.25');
    expect(spentIn(laptop)).toBe(4);
    expectSound(laptop);
  });

  it('also brings back what another clone had spent', async () => {
    const hub = makeHub();
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    spend(laptop, '1');
    await syncIn(laptop);
    await syncIn(desk);
    spend(desk, '2');
    await syncIn(desk);
    const before = laptop.git('rev-parse', 'refs/orchestration/epics/m');
    await syncIn(laptop);
    laptop.git('update-ref', 'refs/orchestration/epics/m', before);
    spend(laptop, '0.5');
    expect(spentIn(laptop)).toBe(1.5);
    expect(moneyCheck(laptop)).toMatchObject({ status: 'fail', evidence: expect.stringContaining('$3.00') });
    runOrch(laptop, ['doctor', '--fix']);
    expect(spentIn(laptop)).toBe(3.5);
    await syncIn(laptop);
    await syncIn(desk);
    expect(spentIn(desk)).toBe(3.5);
  });
});
