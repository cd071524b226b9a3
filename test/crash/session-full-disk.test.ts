import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasCode } from '../../src/errors.ts';
import { record } from '../../src/record/record.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import type { Fact } from '../../src/state/facts.ts';
import { crashPoints } from '../support/depth.ts';
import { makeFullDisk } from '../support/full-disk.ts';
import { orchBin } from '../support/orch.ts';
import { cleanEnvironment, makeFolder, makeRepositoryWithCommit } from '../support/repository.ts';
import { goOn, readHistory, start, sumOf } from '../support/sessions.ts';
import { cost, note, withOrch } from '../support/store.ts';

const engine = 'isomorphic';

describe('a session on a disk that gets full', () => {
  it.each([false, true])(
    'I2 I10: refuses what it cannot keep, keeps the rest, and goes on with space (part of a write is taken: %s)',
    async (takesPart) => {
      const { folder: cwd, git } = makeRepositoryWithCommit();
      const kept: Fact[] = [];
      let refused = 0;
      for (const at of crashPoints(3)) {
        const { target } = await withOrch({ cwd, engine }, (orch) => goOn(orch));
        const disk = makeFullDisk(at, takesPart);
        await withOrch({ cwd, engine, disk }, async (orch) => {
          for (const [index, ask] of [null, { trigger: 'manual' as const, reason: null }].entries()) {
            const facts = [note(`n${at}-${index}`)];
            const money = [cost(1)];
            try {
              await record(orch, target, money);
              kept.push(...money);
              await record(orch, target, facts, ask);
              kept.push(...facts);
            } catch (error) {
              expect(hasCode(error, 'WRITE_FAILED'), String(error)).toBe(true);
              refused += 1;
            }
          }
        });
        await withOrch({ cwd, engine }, (orch) => endSession(orch, target, 'pause', null));
        if (!disk.isFull()) break;
      }
      expect(refused).toBeGreaterThan(2);
      const { micros, notes } = await withOrch({ cwd, engine }, (orch) => readHistory(orch));
      // To the micro-dollar: whoever was refused will say it again.
      expect(micros).toBe(sumOf(kept));
      for (const fact of kept) if (fact.kind === 'note') expect(notes).toContain(fact.id);
      expect(git('fsck', '--strict', '--connectivity-only', '--no-dangling')).toBe('');
    },
  );

  it('can be started again by the same process once there is space', async () => {
    const { folder: cwd } = makeRepositoryWithCommit();
    const disk = makeFullDisk(3, true);
    await withOrch({ cwd, engine, disk }, async (orch) => {
      await expect(start(orch)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    });
    await withOrch({ cwd, engine }, async (orch) => {
      const { target } = await start(orch);
      await endSession(orch, target, 'pause', null);
    });
  });
});

const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

describe.runIf(canMount)('a real file system that is full', () => {
  it('I2 I10: `record` says so with WRITE_FAILED, and works again with space', () => {
    const folder = makeFolder();
    const script = `set -e
      mount -t tmpfs -o size=4m none "$1"; cd "$1"; git init -q .
      run() { "$NODE" "$ORCH" "$@"; }
      run record note before -e x --json >/dev/null
      dd if=/dev/zero of=fill bs=4k >/dev/null 2>&1 || true
      status=0; run record cost 1 -e x --json 2>&1 >/dev/null || status=$?
      echo "$status"
      rm fill; run record cost 2 -e x --json >/dev/null; run record note after -e x --json`;
    const env = cleanEnvironment(folder, { NODE: process.execPath, ORCH: orchBin });
    const out = execFileSync('unshare', ['-rm', 'sh', '-c', script, 'sh', folder], { env, encoding: 'utf8' });
    const lines = out.trim().split('\n');
    expect(lines.at(-2)).toBe('1');
    expect(JSON.parse(lines.at(-3) ?? '').error).toMatchObject({
      code: 'WRITE_FAILED',
      hint: 'Free some space, then run the same command again.',
    });
    expect(JSON.parse(lines.at(-1) ?? '').budget.spentUsd).toBe(2);
  });

  it('I2 I10: a run ends with what it could keep, and names what goes on with it; no effect is done twice', () => {
    const folder = makeFolder();
    const plan = `tasks:
  - { id: fill, run: "dd if=/dev/zero of=fill bs=4k 2> /dev/null; true" }
  - { id: tell, effects: [{ id: tell, run: "echo told >> $OUTSIDE" }] }
`;
    const script = `set -e
      mount -t tmpfs -o size=4m none "$1"; cd "$1"; git init -q .; printf '%s' "$PLAN" > p.yaml
      run() { "$NODE" "$ORCH" run p.yaml -e x "$@" 2> "$OUTSIDE.err" || status=$?; }
      status=0; run; cat "$OUTSIDE.err"; echo "$status"
      rm -f fill; status=0; run --resume; cat "$OUTSIDE.err"; echo "$status"`;
    const outside = join(makeFolder(), 'outside');
    const env = cleanEnvironment(folder, {
      NODE: process.execPath,
      ORCH: orchBin,
      PLAN: plan,
      OUTSIDE: outside,
    });
    const out = execFileSync('unshare', ['-rm', 'sh', '-c', script, 'sh', folder], { env, encoding: 'utf8' });
    expect(out).toContain('the disk is full\n       Finished work is kept. Fix the problem, then resume: ');
    expect(out).toContain('resume: orch run p.yaml --resume -e x\n1\n');
    expect(out).toMatch(/\n0\n$/);
    expect(readFileSync(outside, 'utf8')).toBe('told\n');
  });
});
