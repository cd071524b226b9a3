import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { saveCheckpoint } from '../../src/index.ts';
import { epicRef, expectSound, fail, list, reasonsOf, save } from '../support/checkpoints.ts';
import { runOrch } from '../support/orch.ts';
import {
  cloneOf,
  type Hub,
  makeHub,
  serveDaemon,
  serveHttp,
  serveSilence,
  syncIn,
} from '../support/remotes.ts';
import type { TestRepository } from '../support/repository.ts';
import { startSupervisor } from '../support/supervised.ts';

// Many processes: a loaded machine takes many times as long.
vi.setConfig({ testTimeout: 180_000 });

/** Has a server run this when something is pushed to it. */
function writeHook(hub: Hub, name: string, ...lines: string[]): void {
  const path = join(hub.folder, 'hooks', name);
  mkdirSync(join(hub.folder, 'hooks'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
}

/** Not `runOrch`: the servers live in this process, and must be able to answer. */
async function run(repository: TestRepository, ...args: string[]) {
  const orch = startSupervisor(repository, [...args, '--json']);
  const status = await orch.ended;
  const error = orch.stderr().trim().split('\n').at(-1) ?? '';
  return {
    status,
    stdout: orch.stdout(),
    document: orch.stdout() === '' ? null : JSON.parse(orch.stdout()),
    error: error.startsWith('{') ? JSON.parse(error).error : null,
  };
}

describe('two clones meet', () => {
  const ways: [way: string, serve: (hub: Hub) => Promise<string> | string][] = [
    ['over file://', (hub) => hub.url],
    ['through git daemon', (hub) => serveDaemon(hub, '--enable=receive-pack')],
    ['through smart HTTP', (hub) => serveHttp(hub)],
  ];

  it.each(ways)('%s, and have the same afterwards', async (_, serve) => {
    const hub = makeHub();
    const url = await serve(hub);
    const [laptop, desk] = [cloneOf(hub, 'laptop'), cloneOf(hub, 'desk')];
    for (const clone of [laptop, desk]) clone.git('remote', 'set-url', 'origin', url);
    await save(laptop, ['one', 'two']);
    laptop.write('untracked', 'kept\n');
    expect(await syncIn(laptop)).toMatchObject({
      remote: 'origin',
      pushed: [{ epicId: 'x', checkpoints: 2 }],
      fetched: [],
      errors: [],
    });
    expect(await syncIn(desk)).toMatchObject({
      pushed: [],
      fetched: [{ epicId: 'x', checkpoints: 2 }],
      // Both checkpoints are of one session, that of the day's calls.
      snapshots: { pushed: 0, fetched: 1 },
    });
    await save(laptop, ['three']);
    await save(desk, ['another three']);
    await syncIn(laptop);
    expect((await syncIn(desk)).merged).toMatchObject([{ epicId: 'x' }]);
    await syncIn(laptop);
    expect(laptop.git('rev-parse', epicRef)).toBe(desk.git('rev-parse', epicRef));
    expect(reasonsOf(list(laptop)).filter(Boolean).sort()).toEqual(['another three', 'one', 'three', 'two']);
    for (const each of [hub, laptop, desk]) expectSound(each);
  });
});

describe('a server that will not', () => {
  it('refuses by policy: its own words are told, and everything stays here', async () => {
    const hub = makeHub();
    writeHook(hub, 'pre-receive', 'echo "Checkpoints are not welcome here" >&2', 'exit 1');
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    const { status, error, document } = await run(clone, 'sync', '-y');
    expect({ status, code: error.code }).toEqual({ status: 1, code: 'REMOTE_REFUSED' });
    expect(error.message).toContain('Checkpoints are not welcome here');
    expect(document).toBeNull();
    expect(error.data).toMatchObject({ pushed: [], errors: [{ epicId: 'x' }, { epicId: 'x' }] });
    expect(reasonsOf(list(clone))).toEqual(['one']);
  });

  it('refuses one epic of two: the other gets through, and the status tells', async () => {
    const hub = makeHub();
    writeHook(hub, 'update', 'case "$1" in *secret*) echo "no secrets" >&2; exit 1;; esac');
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    await saveCheckpoint({ epicId: 'secret' }, { cwd: clone.folder });
    const { status, document, error } = await run(clone, 'sync', '-y', '--no-snapshots');
    expect({ status, document }).toEqual({ status: 1, document: null });
    expect(error.data.pushed).toMatchObject([{ epicId: 'x' }]);
    expect(error.data.errors).toMatchObject([{ epicId: 'secret', code: 'REMOTE_REFUSED' }]);
    expect(error.message).toContain('no secrets');
  });

  it('takes no snapshots: the checkpoints are sent without', async () => {
    const hub = makeHub();
    writeHook(hub, 'pre-receive', 'if grep -q snapshots; then echo "too large" >&2; exit 1; fi');
    const clone = cloneOf(hub, 'clone');
    await save(clone, ['one']);
    const { pushed, errors } = await syncIn(clone);
    expect(pushed).toMatchObject([{ epicId: 'x', checkpoints: 1 }]);
    expect(errors[0]?.message).toMatch(/the snapshots of sess-\w+ \(x\).*too large/);
    expect(hub.git('rev-parse', epicRef)).toBe(clone.git('rev-parse', epicRef));
  });

  it('can be read only: what it has comes here, and what is here stays', async () => {
    const hub = makeHub();
    const [other, clone] = [cloneOf(hub, 'other'), cloneOf(hub, 'clone')];
    await save(other, ['theirs']);
    await syncIn(other);
    clone.git('remote', 'set-url', 'origin', await serveDaemon(hub)); // which takes no pushes
    await save(clone, ['ours']);
    const { fetched, errors } = await syncIn(clone);
    expect(errors).toMatchObject([{ code: 'REMOTE_REFUSED' }]);
    expect(fetched).toMatchObject([{ epicId: 'x', checkpoints: 1 }]);
    expect(reasonsOf(list(clone)).filter(Boolean).sort()).toEqual(['ours', 'theirs']);
  });

  it('wants a password: nobody is asked for it', async () => {
    const hub = makeHub();
    const url = await serveHttp(hub, {
      intercept: (_, response) => {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
        return true;
      },
    });
    const clone = cloneOf(hub, 'clone');
    const { status, error, stdout } = await run(clone, 'sync', url, '-y');
    expect({ status, code: error.code, stdout }).toEqual({ status: 1, code: 'REMOTE_REFUSED', stdout: '' });
  });

  it('never answers: the deadline ends it, and nothing is left running', async () => {
    const clone = cloneOf(makeHub(), 'clone');
    const port = await serveSilence();
    for (const url of [`git://127.0.0.1:${port}/x`, `http://127.0.0.1:${port}/x`]) {
      const { status, error } = await run(clone, 'sync', url, '--timeout', '1s');
      expect({ status, code: error.code }).toEqual({ status: 1, code: 'REMOTE_UNREACHABLE' });
      expect(error.message).toContain('did not answer within 1 seconds');
      expect(listRunning(String(port))).toEqual([]);
    }
  });

  it('ends with Ctrl+C, and takes git along', async () => {
    const clone = cloneOf(makeHub(), 'clone');
    const port = await serveSilence();
    const orch = startSupervisor(clone, ['sync', `git://127.0.0.1:${port}/x`]);
    await expect.poll(() => listRunning(String(port)).length, { timeout: 20_000 }).toBeGreaterThan(1);
    orch.signal('SIGINT');
    expect(await orch.ended).toBe(130);
    expect(orch.stderr()).toContain('Interrupted; nothing is lost');
    await expect.poll(() => listRunning(String(port)), { timeout: 20_000 }).toEqual([]);
  });

  it.each(['fetches', 'pushes'])('dies while it %s: the next sync goes on', async (what) => {
    const hub = makeHub();
    const [other, clone] = [cloneOf(hub, 'other'), cloneOf(hub, 'clone')];
    await save(other, ['theirs']);
    await syncIn(other);
    await save(clone, ['ours']);
    let isBroken = true;
    let asked = 0;
    const breakAfter = ({ method, url }: IncomingMessage) => {
      if (!isBroken || method !== 'POST') return null;
      if (url?.endsWith('git-receive-pack')) return what === 'pushes' ? 20 : null;
      return ++asked > 1 && what === 'fetches' ? 20 : null; // first it only says what it has
    };
    clone.git('remote', 'set-url', 'origin', await serveHttp(hub, { breakAfter }));
    const broken = await syncIn(clone).catch((error) => ({ errors: [error] }));
    expect(broken.errors).toMatchObject([{ code: 'REMOTE_UNREACHABLE' }]);
    expect(reasonsOf(list(clone))).toContain('ours');
    isBroken = false;
    expect((await syncIn(clone)).errors).toEqual([]);
    expect(hub.git('rev-parse', epicRef)).toBe(clone.git('rev-parse', epicRef));
    expect(reasonsOf(list(clone)).filter(Boolean).sort()).toEqual(['ours', 'theirs']);
    expectSound(clone);
  });

  it('is not there, or not where it was said to be: each is another error', () => {
    const clone = cloneOf(makeHub(), 'clone');
    const codeOf = (...args: string[]) => {
      const { status, code, hint } = fail(clone, ['sync', ...args]);
      expect({ status, hint }).toEqual({ status: 1, hint: expect.any(String) });
      return code;
    };
    expect(codeOf('nobody')).toBe('REMOTE_NOT_FOUND');
    expect(codeOf('./nowhere')).toBe('REMOTE_NOT_FOUND');
    expect(codeOf('http://127.0.0.1:1/x.git')).toBe('REMOTE_UNREACHABLE');
    expect(codeOf('git://127.0.0.1:1/x.git')).toBe('REMOTE_UNREACHABLE');
    expect(runOrch(clone, ['sync', '--', '--upload-pack=touch pwned']).status).toBe(1);
    expect(codeOf('ext::sh -c touch% pwned')).toBe('REMOTE_REFUSED');
    expect(existsSync(join(clone.folder, 'pwned'))).toBe(false);
    clone.git('remote', 'remove', 'origin');
    expect(codeOf()).toBe('REMOTE_NOT_FOUND');
    expect(runOrch(clone, ['sync']).stderr).toContain('git remote add origin <address>');
  });
});

/** The processes whose command line has this word in it. */
function listRunning(word: string): string[] {
  if (process.platform !== 'linux') return [];
  const own = String(process.pid);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== own)
    .filter((name) =>
      readCommandLine(name)
        .split('\0')
        .some((part) => part.includes(`:${word}/`)),
    );
}

function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it is gone
  }
}
