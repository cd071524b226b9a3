import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { endAfterwards } from '../support/background.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { formedSecrets, makeSecrets } from '../support/secrets.ts';
import { readAllStored } from '../support/stored.ts';
import { callOrch, waitUntil, writeConfig, writeScript } from '../support/supervised.ts';

const secrets = makeSecrets(5);
/** On one line, in any order of quoting: what is looked for afterwards is a piece without an end of line. */
const pieces = secrets.map(({ kind, secret }) => ({ kind, piece: secret.split('\n')[1] ?? secret }));
const everything = secrets.map(({ text }) => text).join('\n');
const token = secrets[0]?.secret ?? '';

function leaksOf(repository: TestRepository, more: readonly string[] = []): string[] {
  return readAllStored(repository).flatMap(({ name, text }) => [
    ...pieces.filter(({ piece }) => text.includes(piece)).map(({ kind }) => `${kind} in ${name}`),
    ...more.filter((piece) => text.includes(piece)).map((piece) => `${piece} in ${name}`),
  ]);
}

function succeed(repository: TestRepository, args: readonly string[], input = ''): string {
  const ran = runOrch(repository, args, { input, env: { ORCH_TRUST: '1', CLAUDE_PID: String(process.pid) } });
  expect({ args: args.slice(0, 2), status: ran.status, stderr: ran.stderr }).toMatchObject({ status: 0 });
  return ran.stdout;
}

describe('I8: no secret is in anything orch composes', () => {
  it('whatever is typed', () => {
    const repository = makeRepositoryWithCommit();
    const record = (...args: string[]) => succeed(repository, ['record', ...args, '-e', 'x']);
    record('note', everything);
    record('decision', everything, '--rationale', everything);
    record('blocker', everything);
    record('tried', everything);
    record('issue', `T1 ${token}`, everything);
    record('task', everything);
    record('file', `src/${token}.ts`, '--why', everything);
    record('test', '--passed', '1', '--failed', '1', everything);
    const printed = succeed(repository, [
      'checkpoint',
      'create',
      '-e',
      'x',
      '--reason',
      everything,
      '--json',
    ]);
    expect(printed).toContain('[redacted: github-token]');
    expect(printed).not.toContain(token);
    repository.git('switch', '--quiet', '--create', `feat/${token}`);
    succeed(repository, ['checkpoint', 'create', '-e', 'x', '--reason', 'on a branch']);
    // The name of the user's branch is in their HEAD, and beside it in what is remembered of it.
    expect(leaksOf(repository).filter((leak) => !leak.endsWith(' in last-used.json'))).toEqual([]);
    const { brief } = orchJson<{ brief: string }>(repository, ['brief', '-e', 'x']);
    expect(brief).toContain('[redacted: ');
  });

  it('whatever the branch, the epic and the files are called', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--create', `fix/${token}`);
    for (const args of [
      ['record', 'note', 'x'],
      ['checkpoint', 'create'],
      ['start', '--background'],
    ]) {
      const { status, stderr } = runOrch(repository, [...args, '--epic', token]);
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('like a secret') });
    }
    const { stderr } = runOrch(repository, ['record', 'file', `${token}.txt`]);
    expect(stderr).toContain('made up; name it yourself');
    expect(leaksOf(repository).filter((leak) => !leak.endsWith(' in last-used.json'))).toEqual([]);
    expect(repository.git('for-each-ref', 'refs/orchestration')).not.toContain(token);
  });

  it('whatever an agent says in its hooks', () => {
    const repository = makeRepositoryWithCommit();
    const folder = fileURLToPath(new URL('../fixtures/agents/claude/hooks', import.meta.url));
    const structural =
      /^(session_id|transcript_path|cwd|hook_event_name|tool_name|source|status|type|file_path)$/;
    // Every text an agent has, in every event it was seen to send.
    const fill = (value: unknown, key = ''): unknown => {
      if (key === 'cwd') return repository.folder;
      if (key === 'transcript_path') return join(repository.home, 'none.jsonl');
      if (typeof value === 'string') return structural.test(key) ? value : `${value} ${everything}`;
      if (Array.isArray(value)) return value.map((each) => fill(each, key));
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each, name)]));
    };
    const events = readdirSync(folder).sort((a, b) => Number(a < b) - Number(a > b));
    expect(events.length).toBeGreaterThan(20);
    const chosen = events.filter((name) => /^(Session|User|Post|Stop|Pre(?!ToolUse)|Sub|Notif)/.test(name));
    for (const name of chosen) {
      const call = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      succeed(repository, ['hook', 'claude'], JSON.stringify(fill({ ...call, session_id: 'agent-1' })));
    }
    const stored = readAllStored(repository);
    expect(stored.some(({ name, text }) => name.endsWith('.jsonl') && text.includes('[redacted: '))).toBe(
      true,
    );
    expect(leaksOf(repository)).toEqual([]);
  });

  it('whatever gates and commands print, and why they were ended', async () => {
    const repository = makeRepositoryWithCommit();
    const said = join(repository.home, 'said');
    writeFileSync(said, `${everything}\n`);
    const gate = writeScript(repository, 'gate', `cat '${said}'`, 'exit 1');
    writeConfig(repository, `gates: [{ name: test, run: ${JSON.stringify(gate)} }]\n`);
    const baseline = runOrch(repository, ['baseline', '-e', 'x', '--json'], { env: { ORCH_TRUST: '1' } });
    expect(baseline.status).toBe(3);
    expect(baseline.stdout).toContain('[redacted: ');
    expect(baseline.stdout).not.toContain(token);

    const go = join(repository.home, 'go');
    // Slowly, in pieces that end anywhere.
    const slow = `while read -r line; do printf '%s' "$line" | cut -c1-20 | tr -d '\\n'; printf '%s\\n' "$line" | cut -c21-; done`;
    const agent = writeScript(repository, 'agent', `${slow} < '${said}'`, `touch '${go}'`, 'exec sleep 600');
    endAfterwards(repository, 'y');
    succeed(repository, ['start', '-e', 'y', '--background', '--no-baseline', '--', agent, token]);
    await waitUntil(() => readdirSync(repository.home).includes('go'));
    expect(leaksOf(repository)).toEqual([]);
    succeed(repository, ['session', 'pause', '-e', 'y', '--reason', everything]);
    expect(leaksOf(repository)).toEqual([]);
    const log = succeed(repository, ['session', 'logs', '-e', 'y']);
    expect(log.match(/\[redacted: /g)?.length).toBeGreaterThan(secrets.length / 2);
  });

  it('whatever a plan says, its tasks print, and its report tells', () => {
    const repository = makeRepositoryWithCommit();
    const said = join(repository.home, 'said');
    const report = join(repository.home, 'report.md');
    writeFileSync(said, `${everything}\n`);
    const plan = join(repository.home, 'plan.yaml');
    const tasks = [
      { id: 'print', run: ['cat', said] },
      { id: 'send', effects: [{ id: 'tell', run: ['sh', '-c', `echo ${token} >&2; exit 1`] }] },
    ];
    writeFileSync(plan, JSON.stringify({ name: 'leaky', tasks }));
    const ran = runOrch(repository, ['run', plan, '-e', 'x', '--report', report]);
    expect(ran.status).toBe(3);
    expect(leaksOf(repository)).toEqual([]);
    const log = readAllStored(repository).find(({ name }) => name.endsWith('print.log'));
    expect(log?.text).toContain('[redacted: ');
    const told = readFileSync(report, 'utf8');
    expect(told).toContain('[redacted: github-token]');
    expect(told).not.toContain(token);
  });

  it("whatever stands in the user's ORCHESTRATION.yaml", () => {
    const repository = makeRepositoryWithCommit();
    const quoted = JSON.stringify(`Go on with ${token} `);
    repository.write(
      'ORCHESTRATION.yaml',
      `workflow: { name: ${quoted}, status: ACTIVE }\nresumption:\n  current_phase_name: ${quoted}\n  next_step: ${quoted}\n  files_to_read:\n    - { path: src/login.ts, purpose: ${quoted} }\nblockers:\n  active:\n    - { id: B1, description: ${quoted} }\ndecisions:\n  - ${quoted}\n`,
    );
    succeed(repository, ['start', '-e', 'x', '--no-baseline', '--', 'true']);
    expect(leaksOf(repository)).toEqual([]);
    const { brief } = orchJson<{ brief: string }>(repository, ['brief', '-e', 'x']);
    expect(brief).toContain('[redacted: github-token]');
  });
});

type Shown = {
  checkpoint: { snapshot: string };
  document: { leftOut?: { path: string; reason: string }[] };
};

function create(repository: TestRepository): Shown {
  succeed(repository, ['checkpoint', 'create', '-e', 'x']);
  return orchJson<Shown>(repository, ['checkpoint', 'show', 'latest', '-e', 'x']);
}

describe('I8: a changed file in which a rule hits is left out of snapshots, and listed', () => {
  it('keeps what the last commit has of it, and says why', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('README', `hello\n${everything}\n`);
    repository.write('.env', `GITHUB_TOKEN=${token}\n`);
    repository.write('fine', 'nothing\n');
    repository.write(`${token}.txt`, 'its name tells\n');
    symlinkSync(`/elsewhere/${token}`, join(repository.folder, 'link'));
    const { checkpoint, document } = create(repository);
    const at = (path: string) => repository.git('show', `${checkpoint.snapshot}:${path}`);
    expect(at('README')).toBe('hello');
    expect(repository.git('ls-tree', '--name-only', checkpoint.snapshot)).toBe('README\nfine');
    expect(document.leftOut).toEqual(
      [
        { path: '.env', reason: 'secret inside: github-token' },
        { path: '[redacted: github-token].txt', reason: 'secret inside: github-token' },
        { path: 'link', reason: 'secret inside: github-token' },
        { path: 'README', reason: expect.stringMatching(/^secret inside: /) },
      ].map((one) => expect.objectContaining(one)),
    );
    expect(repository.git('log', '-1', '--format=%B', checkpoint.snapshot)).toContain(
      '- .env (secret inside: github-token)',
    );
    const told = '.env (secret inside: github-token)';
    const { stderr } = runOrch(repository, ['checkpoint', 'create', '-e', 'x']);
    expect(stderr).toContain(`  Not saved: ${told}, `);
    expect(succeed(repository, ['checkpoint', 'show', '-e', 'x'])).toContain(
      `Not in the snapshot\n  ${told}\n`,
    );
    expect(leaksOf(repository)).toEqual([]);
    // Once it is gone, the file is kept again.
    repository.write('README', 'hello again\n');
    const next = create(repository);
    expect(repository.git('show', `${next.checkpoint.snapshot}:README`)).toBe('hello again');
    expect(next.document.leftOut?.map(({ path }) => path)).not.toContain('README');
  });

  it('also when it came into a file that was kept before, and when it was staged', () => {
    const repository = makeRepositoryWithCommit();
    repository.write('notes', 'one\n');
    expect(repository.git('ls-tree', '--name-only', create(repository).checkpoint.snapshot)).toContain(
      'notes',
    );
    repository.write('notes', `two ${token}\n`);
    const second = create(repository);
    expect(repository.git('ls-tree', '--name-only', second.checkpoint.snapshot)).toBe('README');
    expect(leaksOf(repository)).toEqual([]);

    repository.write('README', `hello ${token}\n`);
    repository.git('add', 'README', 'notes');
    const index = readFileSync(join(repository.folder, '.git/index'));
    const third = create(repository);
    expect(repository.git('show', `${third.checkpoint.snapshot}:README`)).toBe('hello');
    expect(repository.git('ls-tree', '--name-only', third.checkpoint.snapshot)).toBe('README');
    expect(third.document.leftOut?.map(({ path }) => path).sort()).toEqual(['README', 'notes']);
    expect(readFileSync(join(repository.folder, '.git/index')).equals(index)).toBe(true);
    // What the user commits is theirs.
    repository.git('commit', '--quiet', '--message', 'theirs');
    const fourth = create(repository);
    expect(repository.git('show', `${fourth.checkpoint.snapshot}:README`)).toContain(token);
    expect(fourth.document.leftOut).toBeUndefined();
  });

  it('but not where the last commit has the same secret in the same file: nothing new is given away', () => {
    const repository = makeRepositoryWithCommit();
    const known = token;
    const { text: other, secret } = secrets[1] ?? { text: '', secret: '' };
    const isLeftOut = (path: string) =>
      create(repository).document.leftOut?.some((one) => one.path === path) ?? false;
    repository.write('settings', `key ${known}\n`);
    repository.write('data', `\0\0${known}\n`);
    repository.git('add', '.');
    repository.git('commit', '--quiet', '--message', 'too late');
    repository.write('settings', `key ${known}\nmore\n`);
    repository.write('data', `\0\0${known}\n\0more`);
    const { checkpoint, document } = create(repository);
    expect(document.leftOut).toBeUndefined();
    expect(repository.git('show', `${checkpoint.snapshot}:settings`)).toContain('more');
    // Staged, it is the same; beside another secret, or in another file, it is not.
    repository.git('add', '.');
    expect(isLeftOut('settings')).toBe(false);
    repository.write('settings', `key ${known}\n${other}\n`);
    expect(isLeftOut('settings')).toBe(true);
    repository.git('add', 'settings');
    expect(isLeftOut('settings')).toBe(true);
    repository.write('settings', `key ${other}\n`);
    expect(isLeftOut('settings')).toBe(true);
    repository.write('elsewhere', `key ${known}\n`);
    expect(isLeftOut('elsewhere')).toBe(true);
    const all = repository.git('log', '--all', '-p', '--text', '--format=%H');
    expect(secret === '' || all.includes(secret)).toBe(false);
  });

  it('before there is a commit, in a subfolder, and in another encoding', () => {
    const repository = makeRepositoryWithCommit();
    repository.git('switch', '--quiet', '--orphan', 'empty');
    mkdirSync(join(repository.folder, 'a folder'));
    repository.write('a folder/ü.env', `x=${token}\n`);
    const wide = Buffer.from(`\ufeff${token}\n`, 'utf16le');
    writeFileSync(join(repository.folder, 'wide.txt'), wide);
    writeFileSync(join(repository.folder, 'other-way.txt'), Buffer.from(wide).swap16());
    repository.write('kept', 'kept\n');
    repository.git('add', '.');
    const { checkpoint, document } = create(repository);
    expect(repository.git('ls-tree', '-r', '--name-only', checkpoint.snapshot)).toBe('kept');
    expect(document.leftOut?.map(({ path }) => path).sort()).toEqual([
      'a folder/ü.env',
      'other-way.txt',
      'wide.txt',
    ]);
  });
});

describe('I8: a file that is no text is left out where it holds a secret of a known form', () => {
  const database = (...said: string[]) =>
    Buffer.concat([
      Buffer.from('SQLite format 3\0'),
      Buffer.alloc(20_000),
      ...said.flatMap((text) => [Buffer.from([0x17, 0x81, 0x2f]), Buffer.from(text), Buffer.alloc(900)]),
    ]);
  const put = (repository: TestRepository, name: string, bytes: Buffer) =>
    writeFileSync(join(repository.folder, name), bytes);

  it('in a database, and in two bytes a character without a mark, either way round', () => {
    const repository = makeRepositoryWithCommit();
    const wide = (text: string) => Buffer.from(text, 'utf16le');
    put(repository, 'shop.db', database('users', token, 'more'));
    put(repository, 'narrow-first.txt', wide(`a line\n${token}\n`));
    put(repository, 'wide-first.txt', wide(`a line\n${token}\n`).swap16());
    put(repository, 'odd.bin', Buffer.concat([Buffer.from([1]), wide(` ${token} `)]));
    put(repository, 'late.log', Buffer.concat([Buffer.from('text\n'.repeat(4_000)), wide(` ${token} `)]));
    put(
      repository,
      'fine.db',
      database(
        'users',
        'password: hunter2hunter2',
        `API_KEY=${secrets.find(({ kind }) => kind === 'Datadog key')?.secret}`,
      ),
    );
    const kept = (snapshot: string) => repository.git('ls-tree', '-r', '--name-only', snapshot);
    const { checkpoint, document } = create(repository);
    expect(kept(checkpoint.snapshot)).toBe('README\nfine.db');
    expect(document.leftOut?.map(({ reason }) => reason)).toEqual(
      Array(5).fill('secret inside: github-token'),
    );
    expect(leaksOf(repository).filter((leak) => leak.startsWith('GitHub'))).toEqual([]);
    repository.git('add', '.');
    expect(kept(create(repository).checkpoint.snapshot)).toBe('README\nfine.db');
  });

  it('of every kind that is known by its form', () => {
    const repository = makeRepositoryWithCommit();
    const kinds = formedSecrets(7);
    expect(kinds.length).toBeGreaterThanOrEqual(120);
    for (const [index, { secret }] of kinds.entries())
      put(repository, `${index}.db`, database('users', secret, 'more'));
    const { snapshot } = create(repository).checkpoint;
    const kept = new Set(repository.git('ls-tree', '--name-only', snapshot).split('\n'));
    expect(kinds.filter((_, index) => kept.has(`${index}.db`)).map(({ kind }) => kind)).toEqual([]);
  });

  it("and where a pattern of the user's says so", () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, "redact: { patterns: ['ACME-[0-9]{8}'] }\n");
    put(repository, 'shop.db', database('ACME-12345678'));
    put(repository, 'fine.db', database('ACME-1234'));
    expect(create(repository).document.leftOut).toEqual([
      expect.objectContaining({ path: 'shop.db', reason: 'secret inside: pattern' }),
    ]);
  });
});

describe('the config', () => {
  it('adds patterns, and can switch the presets off once the user agreed', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, "redact: { presets: false, patterns: ['ACME-[0-9]{8}'] }\n");
    const told = orchJson<{ event: { text: string } }>(repository, ['record', 'note', token, '-e', 'before']);
    expect(told.event.text).not.toContain(token);
    expect(runOrch(repository, ['init', '-y', '--no-claude', '--no-codex']).stdout).toContain(
      'approve  redact.presets: false (whether known secrets are kept out of what orch records)',
    );
    repository.write('file', 'ACME-12345678\n');
    repository.write('other', `${token}\n`);
    const note = (text: string) =>
      orchJson<{ event: { text: string } }>(repository, ['record', 'note', text, '-e', 'x']).event.text;
    expect(note(`ACME-12345678 ${token}`)).toBe(`[redacted: pattern] ${token}`);
    const { checkpoint, document } = create(repository);
    expect(document.leftOut).toEqual([
      expect.objectContaining({ path: 'file', reason: 'secret inside: pattern' }),
    ]);
    expect(repository.git('show', `${checkpoint.snapshot}:other`)).toBe(token);
    // A new pattern counts for what was kept before it, too.
    writeConfig(repository, "redact: { patterns: ['ACME-[0-9]{8}'] }\n");
    const next = create(repository);
    expect(next.document.leftOut?.map(({ path }) => path)).toEqual(['file', 'other']);
  });

  it('is kept to while it is being edited', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, "redact: { patterns: ['ACME-[0-9]{8}'] }\n");
    // By then the file is old enough to be remembered.
    const later = { env: { ORCH_NOW: '2099-11-16T12:00:00Z' } };
    const start = (script: string) =>
      runOrch(repository, ['start', '-e', 'x', '--no-baseline', '--', 'sh', '-c', script], later);
    expect(start('true').status).toBe(0);
    const record = callOrch(`record note 'ACME-12345678 and ${token}'`);
    const ran = start(`echo 'redact: [' > .orchestration/config.yaml; ${record}`);
    expect(ran).toMatchObject({ status: 0, stdout: expect.stringContaining('note recorded') });
    expect(leaksOf(repository, ['ACME-12345678'])).toEqual([]);
    expect(readAllStored(repository).some(({ text }) => text.includes('[redacted: pattern] and'))).toBe(true);
  });

  it('that cannot be read lets nothing through, and says where it is wrong', () => {
    const repository = makeRepositoryWithCommit();
    writeConfig(repository, "redact:\n  patterns: ['(']\n");
    const ran = runOrch(repository, ['record', 'note', token, '-e', 'x', '--json']);
    expect(ran.status).toBe(2);
    expect(errorOf(ran)).toMatchObject({
      code: 'CONFIG_INVALID',
      data: { line: 2, key: 'redact.patterns[0]' },
    });
  });
});
