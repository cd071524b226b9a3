import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEpicId } from '../../src/ids.ts';
import { deliverDue, openDelivery } from '../../src/notify/deliver.ts';
import type { Happening } from '../../src/notify/notice.ts';
import { notify } from '../../src/notify/notify.ts';
import { openOrch } from '../../src/orch.ts';
import { afterTest } from '../support/cleanup.ts';
import { makeConvoyed, ranEnvironment } from '../support/convoys.ts';
import { type Behaviour, type Received, startEffectServer } from '../support/effect-server.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { callOrch, startSupervisor, waitUntil, writeConfig, writeScript } from '../support/supervised.ts';

type Listed = {
  readonly notices: readonly {
    readonly id: string;
    readonly receiver: string;
    readonly state: string;
    readonly attempts: number;
    readonly reason: string | null;
    readonly nextAt: string | null;
  }[];
};

const trusted = { ORCH_TRUST: '1' };
const list = (repository: TestRepository) =>
  orchJson<Listed>(repository, ['notify', 'list'], { env: trusted }).notices;

/** A repository whose receiver `hook` is a server that behaves like this. */
async function makeHooked(behave: (request: Received, nth: number) => Behaviour, more = '') {
  const server = await startEffectServer(behave);
  const repository = makeRepositoryWithCommit();
  writeConfig(repository, `notify:\n  - { name: hook, webhook: "${server.url}/hook" }\n${more}`);
  return { server, repository };
}

/** Opens a repository at a time that the test can move. */
async function openAt(repository: TestRepository) {
  const time = { now: Date.now() };
  const reports: string[] = [];
  const orch = await openOrch({
    ...{ cwd: repository.folder, trusted: true, clock: { now: () => time.now } },
    onReport: (what) => reports.push(what),
  });
  afterTest(() => orch.close());
  return { orch, time, reports };
}

const happening = (at: number, unique: string): Happening => ({
  ...{ kind: 'question', at, epic: parseEpicId('auth'), task: 'login', unique: [unique] },
  text: 'login asks: SES or SMTP?',
});

/** Runs a command while servers of this test answer. */
async function call(repository: TestRepository, args: readonly string[], env: Record<string, string> = {}) {
  const process = startSupervisor(repository, args, { env: { ...trusted, ...env } });
  const status = await process.ended;
  return { status, stdout: process.stdout(), stderr: process.stderr() };
}

const idsOf = (received: readonly Received[]) => received.map(({ headers }) => headers['orch-event']);
const bodyOf = ({ body }: Received) => JSON.parse(body);

describe('a convoy that nobody watches', () => {
  it('tells of a question, a failure and its end: to a webhook with a signature, a command and a file', async () => {
    const server = await startEffectServer(() => ({ status: 204 }));
    const repository = makeConvoyed(
      `name: auth
budget: 1
worker: { agent: sh ./agent.sh, attempts: 1 }
tasks:
  - { id: asks, prompt: asks, worker: { budget: 0.05 } }
  - { id: done, prompt: is done, worker: { budget: 0.9 } }
  - { id: fails, prompt: fails, worker: { budget: 0.05 } }
`,
      `done) ${callOrch('record cost 0.85 -q')}; echo d > d.txt;; fails) exit 1;; asks) env > "$RAN.env"; [ -e asks.txt ] || { echo a > asks.txt; ${callOrch("ask 'SES or SMTP?'")}; };;`,
    );
    const told = writeScript(repository, 'told', `cat >> '${repository.home}/told.json'`, 'env >> "$0.env"');
    writeConfig(
      repository,
      `notify:
  - { name: hook, webhook: "${server.url}/hook?key=1", secret: HOOK_SECRET }
  - { name: desk, on: [question], command: ["${told}"] }
  - { name: log, file: ../notices.jsonl }
`,
    );
    const env = { ...ranEnvironment(repository), ...trusted, HOOK_SECRET: 'a-secret-of-ours' };
    const scheduler = startSupervisor(repository, ['convoy', 'start', 'plan.yaml'], { env });
    // While it runs, not only at its end.
    await waitUntil(() => server.received.some((one) => bodyOf(one).kind === 'question'));
    await scheduler.ended;
    const kinds = server.received.map((one) => bodyOf(one).kind).sort();
    expect(kinds, scheduler.stderr()).toEqual(['budget', 'question', 'task_failed']);
    expect(new Set(idsOf(server.received)).size).toBe(3);
    const question = server.received.find((one) => bodyOf(one).kind === 'question');
    if (question === undefined) throw new Error('there is no question');
    expect(bodyOf(question)).toEqual({
      ...{ id: question.headers['orch-event'], kind: 'question', at: expect.stringMatching(/^20\d\d-/) },
      ...{ epic: 'auth', task: 'asks', text: 'asks asks: SES or SMTP?' },
      next: 'orch convoy say auth/asks "…"',
    });
    const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(
      String(question.headers['orch-signature']),
    ) ?? ['', '', ''];
    const own = createHmac('sha256', env.HOOK_SECRET).update(`${time}.${question.body}`).digest('hex');
    expect(signature).toBe(own);
    const log = readFileSync(join(repository.folder, '..', 'notices.jsonl'), 'utf8');
    expect(log.endsWith('\n')).toBe(true);
    const logged = log.trim().split('\n');
    expect(logged.sort()).toEqual(server.received.map(({ body }) => body).sort());
    expect(JSON.parse(readFileSync(join(repository.home, 'told.json'), 'utf8'))).toEqual(bodyOf(question));
    const seen = readFileSync(`${told}.env`, 'utf8');
    // An agent that has the secret could sign notices of its own.
    const ofWorkers = readFileSync(join(repository.home, 'ran.env'), 'utf8');
    expect(ofWorkers).toContain('ORCH_TASK=asks');
    expect(ofWorkers).not.toContain('a-secret-of-ours');
    expect(seen).toContain('ORCH_EVENT_TEXT=asks asks: SES or SMTP?');
    expect(seen).toContain(`ORCH_EVENT_ID=${bodyOf(question).id}`);

    // Continued, it repeats nothing that was told, and tells how it ends.
    expect(runOrch(repository, ['convoy', 'say', 'auth/asks', 'SES']).status).toBe(0);
    const before = server.received.length;
    await call(repository, ['convoy', 'resume', 'auth', '--budget', '+5'], env);
    const news = server.received.slice(before).map((one) => [bodyOf(one).kind, bodyOf(one).task ?? null]);
    expect(news.sort()).toEqual([
      ['convoy_failed', null],
      ['task_failed', 'fails'],
    ]);
    expect(new Set(idsOf(server.received)).size).toBe(server.received.length);
    expect(list(repository)).toEqual([]);
  });

  it('tells once that it is done, and nothing more when it is started again', () => {
    const repository = makeConvoyed(
      'name: auth\nworker: { agent: sh ./agent.sh }\ntasks:\n  - { id: one, prompt: do it }\n',
      'one) echo 1 > one.txt;;',
    );
    writeConfig(repository, 'notify: [{ name: log, file: ../notices.jsonl }]\n');
    const env = { ...ranEnvironment(repository), ...trusted };
    for (const _ of [1, 2]) {
      expect(runOrch(repository, ['convoy', 'start', 'plan.yaml'], { env }).status).toBe(0);
      const log = readFileSync(join(repository.folder, '..', 'notices.jsonl'), 'utf8')
        .trim()
        .split('\n');
      expect(log.map((line) => JSON.parse(line))).toMatchObject([
        { kind: 'convoy_done', text: 'auth is done: 1 task merged.', next: 'orch convoy land auth' },
      ]);
    }
  });

  it('tells no one who was not approved, and says so', async () => {
    const { server, repository } = await makeHooked(() => ({ status: 200 }));
    const ran = await call(repository, ['notify', 'test', 'hook'], { ORCH_TRUST: '' });
    expect([ran.status, server.received]).toEqual([2, []]);
    expect(ran.stderr).toContain(
      'notify.hook in .orchestration/config.yaml is not used until you approve it',
    );
    expect(ran.stderr).toContain('orch init --no-claude --no-codex');
    expect(runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']).status).toBe(0);
    expect((await call(repository, ['notify', 'test', 'hook'], { ORCH_TRUST: '' })).status).toBe(0);
    expect(server.received.map((one) => bodyOf(one).kind)).toEqual(['test']);
  });
});

it('an agent that was started by hand has its user told of its budget', async () => {
  const { server, repository } = await makeHooked(() => ({ status: 200 }));
  const agent = writeScript(
    repository,
    'agent',
    ...[0.85, 0.2].map((usd) => callOrch(`record cost ${usd} -q`)),
  );
  const ran = await call(repository, ['start', '-e', 'x', '--budget', '1', '--', agent]);
  expect(ran.status, ran.stderr).toBe(4);
  const texts = server.received.map((one) => bodyOf(one).text);
  expect(texts.at(-1)).toBe('x has used 100% of its budget: $1.05 of $1.00.');
  expect(server.received.at(-1)?.body).toContain('"next":"orch cost budget +10 -e x"');
});

describe('a receiver', () => {
  it.each<[what: string, behaviour: Behaviour, reason: string]>([
    ['is gone', { status: 410 }, 'answered 410'],
    ['has moved', { status: 302, headers: { Location: '/other' } }, 'redirects are not followed'],
  ])('that %s gets nothing more, until its notices are replayed', async (_, behaviour, reason) => {
    const { server, repository } = await makeHooked((_request, nth) =>
      nth === 1 ? behaviour : { status: 200 },
    );
    const { orch, time } = await openAt(repository);
    await notify(orch, happening(time.now, 'q'));
    await deliverDue(orch);
    time.now += 7 * 86_400_000;
    await deliverDue(orch);
    expect(server.received).toHaveLength(1);
    const [dead] = list(repository);
    expect(dead).toMatchObject({ receiver: 'hook', state: 'dead', nextAt: null });
    expect(dead?.reason).toContain(reason);
    const doctor = orchJson<{ checks: { name: string; evidence: string }[] }>(repository, ['doctor']);
    expect(doctor.checks).toContainEqual(
      expect.objectContaining({ name: 'notices', status: 'warn', evidence: '1 notice could not be sent' }),
    );
    const replayed = await call(repository, ['notify', 'replay', '--json']);
    expect(JSON.parse(replayed.stdout)).toEqual({ replayed: 1, notices: [] });
    expect(new Set(idsOf(server.received))).toEqual(new Set([dead?.id]));
    await call(repository, ['notify', 'replay']);
    expect(server.received).toHaveLength(2);
  });

  it('that is down, fails or asks to wait gets it later, and once', async () => {
    const behaviours: Behaviour[] = [
      'refuses',
      { status: 500 },
      { status: 503, headers: { 'Retry-After': '3600' } },
      { status: 200 },
    ];
    const { server, repository } = await makeHooked((_, nth) => behaviours[nth - 1] ?? { status: 200 });
    const { orch, time } = await openAt(repository);
    await notify(orch, happening(time.now, 'q'));
    const attempts = async () => {
      await deliverDue(orch);
      return server.received.length;
    };
    expect(await attempts()).toBe(1);
    expect(await attempts()).toBe(1);
    time.now += 2_000;
    expect(await attempts()).toBe(2);
    time.now += 6_000;
    expect(await attempts()).toBe(3);
    time.now += 3_599_000;
    expect(await attempts()).toBe(3);
    expect(list(repository)).toMatchObject([{ state: 'queued', attempts: 3, reason: 'answered 503' }]);
    time.now += 1_000;
    expect(await attempts()).toBe(4);
    await notify(orch, happening(time.now, 'q'));
    time.now += 86_400_000;
    expect(await attempts()).toBe(4);
    expect(new Set(idsOf(server.received)).size).toBe(1);
    expect(list(repository)).toEqual([]);
  });

  it('that never answers holds up no other receiver', async () => {
    const { server, repository } = await makeHooked(
      () => 'hangs',
      '  - { name: log, file: notices.jsonl }\n',
    );
    const { orch, time } = await openAt(repository);
    const delivery = await openDelivery(orch);
    for (const unique of ['a', 'b', 'c']) delivery.note(happening(time.now, unique));
    const log = join(repository.folder, 'notices.jsonl');
    const began = Date.now();
    await waitUntil(() => existsSync(log) && readFileSync(log, 'utf8').trim().split('\n').length === 3);
    expect(Date.now() - began).toBeLessThan(5_000);
    await waitUntil(() => server.received.length > 0);
    expect(server.received).toHaveLength(1);
    await delivery.close();
  });

  it('gets a notice that a kill -9 kept from being noted again, with the same id, and only then', async () => {
    let isKilling = true;
    const { server, repository } = await makeHooked(() => (isKilling ? 'hangs' : { status: 200 }));
    const { orch, time } = await openAt(repository);
    await notify(orch, happening(time.now, 'q'));
    const first = startSupervisor(repository, ['notify', 'replay'], { env: trusted });
    // It was received; what the sender would have noted about that is lost.
    await waitUntil(() => server.received.length === 1);
    first.signal('SIGKILL');
    await first.ended;
    isKilling = false;
    for (const _ of [1, 2, 3]) await call(repository, ['notify', 'replay']);
    expect(idsOf(server.received)).toHaveLength(2);
    expect(new Set(idsOf(server.received)).size).toBe(1);
    expect(list(repository)).toEqual([]);
  });

  it('that is a command is asked again when it fails, and not when it has ended well', async () => {
    const repository = makeRepositoryWithCommit();
    const script = writeScript(
      repository,
      'told',
      'echo "$ORCH_EVENT_ID" >> "$0.ran"',
      '[ "$(wc -l < "$0.ran")" -ge 3 ] && exit 0',
      '[ "$(wc -l < "$0.ran")" -ge 2 ] && exit 75',
      'exit 1',
    );
    writeConfig(repository, `notify: [{ name: desk, command: ["${script}"] }]\n`);
    const { orch, time } = await openAt(repository);
    await notify(orch, happening(time.now, 'q'));
    const reasons: unknown[] = [];
    for (const _ of [1, 2, 3, 4]) {
      await deliverDue(orch);
      reasons.push(list(repository)[0]?.reason ?? null);
      time.now += 86_400_000;
    }
    expect(reasons).toEqual(['exited 1', 'exited 75, to be tried again', null, null]);
    expect(readFileSync(`${script}.ran`, 'utf8').trim().split('\n')).toHaveLength(3);
  });

  it('without its secret is not told, and what is said of it names no secret', async () => {
    const server = await startEffectServer(() => ({ status: 500, body: 'no such key: tops3cret /hidden' }));
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, 'notify: [{ name: hook, webhook: $HOOK_URL, secret: HOOK_SECRET }]\n');
    const env = { HOOK_URL: `${server.url}/hidden` };
    const unsigned = await call(repository, ['notify', 'test', 'hook'], env);
    expect(unsigned.stdout).toContain('HOOK_SECRET is not set in the environment');
    expect([unsigned.status, server.received]).toEqual([1, []]);
    const refused = await call(repository, ['notify', 'test', 'hook'], { ...env, HOOK_SECRET: 'tops3cret' });
    expect(refused.stdout).toContain('answered 500: no such key: …');
    expect(refused.stdout).not.toContain('tops3cret');
  });
});

it('what is dropped is never sent, also when it is noted again', async () => {
  const { server, repository } = await makeHooked(() => ({ status: 500 }));
  const { orch, time } = await openAt(repository);
  await notify(orch, happening(time.now, 'q'));
  await deliverDue(orch);
  const [queued] = list(repository);
  expect(orchJson(repository, ['notify', 'drop', queued?.id ?? ''])).toEqual({ dropped: 1 });
  await notify(orch, happening(time.now, 'q'));
  time.now += 86_400_000;
  await deliverDue(orch);
  expect(server.received).toHaveLength(1);
  expect(runOrch(repository, ['notify', 'drop', queued?.id ?? '']).status).toBe(2);
});

it('what is for a receiver that is not known here waits for it, and an agent gives up nothing', async () => {
  const { server, repository } = await makeHooked(() => ({ status: 200 }));
  const { orch, time } = await openAt(repository);
  await notify(orch, happening(time.now, 'q'));
  writeConfig(repository, 'notify: [{ name: log, file: notices.jsonl }]\n');
  await call(repository, ['notify', 'replay']);
  const [waiting] = list(repository);
  const reason = 'no such receiver is configured here, or it is not approved';
  expect(waiting).toMatchObject({ state: 'queued', attempts: 0, reason });
  const agent = runOrch(repository, ['notify', 'drop', waiting?.id ?? ''], { env: { CLAUDECODE: '1' } });
  expect(agent.stderr).toContain('an agent cannot give up what its user is to hear');
  writeConfig(repository, `notify: [{ name: hook, webhook: "${server.url}" }]\n`);
  expect((await call(repository, ['notify', 'replay'])).stdout).toContain('Nothing had to be queued again.');
  expect(idsOf(server.received)).toEqual([waiting?.id]);
});

it('is told by several processes at once as if by one', async () => {
  const { server, repository } = await makeHooked(() => ({ status: 200 }));
  const { orch, time } = await openAt(repository);
  for (const unique of ['a', 'b', 'c', 'd', 'e', 'f']) await notify(orch, happening(time.now, unique));
  const own = [1, 2, 3].map(() => deliverDue(orch));
  await Promise.all([...own, ...[1, 2, 3].map(() => call(repository, ['notify', 'replay']))]);
  await call(repository, ['notify', 'replay']);
  expect(server.received).toHaveLength(6);
  expect(new Set(idsOf(server.received)).size).toBe(6);
});
