import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { approve, isApproved } from '../../src/config/trust.ts';
import { realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import { makeFolder } from '../support/repository.ts';

const test = { name: 'test', run: 'npm test', fix: null };
const lint = { name: 'lint', run: ['biome', 'ci'], fix: ['biome', 'check', '--write'] };

const portsOf = (home: string) => ({ disk: realDisk, random: realRandom, home });

async function makeTrusting(...gates: (typeof test | typeof lint)[]): Promise<string> {
  const home = join(makeFolder(), 'orchestration');
  await approve(portsOf(home), gates);
  return home;
}

describe('the approval of commands', () => {
  it('is not there before it was given, but for nothing at all', () => {
    const home = join(makeFolder(), 'orchestration');
    expect(isApproved(home, [test])).toBe(false);
    expect(isApproved(home, [])).toBe(true);
  });

  it('is for exactly these commands', async () => {
    const home = await makeTrusting(test, lint);
    expect(isApproved(home, [test, lint])).toBe(true);
    expect(isApproved(home, [lint])).toBe(true);
    const changed = [
      { ...test, run: 'npm test ' },
      { ...test, run: ['npm', 'test'] },
      { ...test, name: 'tests' },
      { ...test, fix: 'npm run fix' },
      { ...lint, fix: null },
      { ...lint, run: ['biome ci'] },
      { name: 'new', run: 'true', fix: null },
    ];
    for (const gate of changed)
      expect(isApproved(home, [test, lint, gate]), JSON.stringify(gate)).toBe(false);
  });

  it('stays when another is given', async () => {
    const home = await makeTrusting(test);
    await approve(portsOf(home), [lint]);
    await approve(portsOf(home), [lint]);
    expect(isApproved(home, [test, lint])).toBe(true);
  });

  it('does not come along with a copy', async () => {
    const home = await makeTrusting(test);
    const copy = join(makeFolder(), 'orchestration');
    cpSync(home, copy, { recursive: true });
    expect(isApproved(copy, [test])).toBe(false);
  });

  it.each(['', '{', 'null', '[]', '{"approved": 1}', '{"approved": [1, null]}', '\0\0'])(
    'is none where its file holds %j, and can be given again',
    async (text) => {
      const home = await makeTrusting(test);
      writeFileSync(join(home, 'trust.json'), text);
      expect(isApproved(home, [test])).toBe(false);
      await approve(portsOf(home), [test]);
      expect(isApproved(home, [test])).toBe(true);
    },
  );

  it('is none where a folder has its name, and giving it says what went wrong', async () => {
    const home = await makeTrusting(test);
    rmSync(join(home, 'trust.json'));
    mkdirSync(join(home, 'trust.json', 'x'), { recursive: true });
    expect(isApproved(home, [test])).toBe(false);
    await expect(approve(portsOf(home), [test])).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  });
});
