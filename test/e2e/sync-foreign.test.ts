import { describe, expect, it, vi } from 'vitest';
import {
  commitFiles,
  epicRef,
  expectSound,
  list,
  reasonsOf,
  save,
  show,
  verify,
} from '../support/checkpoints.ts';
import { runOrch } from '../support/orch.ts';
import { cloneOf, makeHub, syncIn } from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';
import { makeSecrets } from '../support/secrets.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

const tipOf = (repository: TestRepository) => repository.git('rev-parse', epicRef);

/** Two clones that both know the first checkpoint of epic x. */
async function makeClones() {
  const hub = makeHub();
  const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
  await save(laptop, ['one']);
  await syncIn(laptop);
  await syncIn(desk);
  return { hub, laptop, desk };
}

describe('two lines of one epic', () => {
  it('are joined where one ends with a commit that somebody made by hand', async () => {
    const { hub, laptop, desk } = await makeClones();
    const [two] = await save(laptop, ['two on the laptop']);
    const foreign = commitFiles(laptop, two.commit, { NOTES: 'by hand\n' }, 'Somebody was here');
    laptop.git('update-ref', epicRef, foreign);
    await save(desk, ['two at the desk']);
    await syncIn(laptop);
    expect(await syncIn(desk)).toMatchObject({ merged: [{ epicId: 'x' }], errors: [] });
    await syncIn(laptop);
    expect(tipOf(laptop)).toBe(tipOf(desk));
    expect(tipOf(hub)).toBe(tipOf(desk));
    expect(laptop.git('log', '--format=%H', epicRef).split('\n')).toContain(foreign);
    expect(reasonsOf(list(desk)).sort()).toEqual(
      ['one', 'two at the desk', 'two on the laptop', null].sort(),
    );
    expect(Object.keys(show(desk, 'latest').document.state.sessions)).toHaveLength(2);
    expect(await save(desk, ['three'])).toMatchObject([{ seq: 4 }]);
    expect(verify(desk)).toMatchObject({ status: 0, found: { damaged: [] } });
    expectSound(desk);
  });

  it('keep which files the newer one’s snapshot left out', async () => {
    const { laptop, desk } = await makeClones();
    await save(desk, ['two at the desk']);
    await syncIn(desk);
    laptop.write(
      'credentials.txt',
      `${makeSecrets(1)
        .map(({ text }) => text)
        .join('\n')}\n`,
    );
    const later = Date.now() + 60_000;
    await save(laptop, ['two on the laptop'], { clock: { now: () => later } });
    const { leftOut } = show(laptop, 'latest').document;
    expect(leftOut).toMatchObject([{ path: 'credentials.txt' }]);
    expect(await syncIn(laptop)).toMatchObject({ merged: [{ epicId: 'x' }] });
    expect(show(laptop, 'latest').document).toMatchObject({ trigger: 'merge', leftOut });
  });
});

it('I9: what another machine wrote is shown, and never obeyed by the terminal', async () => {
  const { laptop, desk } = await makeClones();
  const message = laptop
    .git('log', '-1', '--format=%B', epicRef)
    .replaceAll('one', 'o\u001b]0;title\u0007n\u009b31me\u202e');
  const made = commitFiles(laptop, tipOf(laptop), {}, message);
  laptop.git('push', '--quiet', 'origin', `${made}:${epicRef}`);
  expect((await syncIn(desk)).errors).toEqual([]);
  for (const args of [['log', 'x'], ['checkpoint', 'list', 'x', '--all'], ['status']]) {
    const { stdout, stderr, status } = runOrch(desk, args);
    expect({ args, status }).toEqual({ args, status: 0 });
    expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  }
  expect(runOrch(desk, ['checkpoint', 'list', 'x', '--all']).stdout).toContain('o]0;titlen31me');
});
