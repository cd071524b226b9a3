import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startInBackground } from '../support/background.ts';
import { show } from '../support/checkpoints.ts';
import { callTool, hello, openMcp, request, sayToMcp } from '../support/mcp.ts';
import { orchBin, orchJson, runOrch } from '../support/orch.ts';
import {
  cleanEnvironment,
  makeFolder,
  makeRepositoryWithCommit,
  type TestRepository,
} from '../support/repository.ts';

const env = { ORCH_EPIC: 'x' };
const stateOf = (repository: TestRepository) => show(repository, 'latest').document.state;
const textsOf = (list: { readonly [key: string]: { readonly value: object } }) =>
  Object.values(list).map(({ value }) => value);

describe('orch mcp, to a real client', () => {
  it('has few tools, each with a description and a schema, and none for budgets', async () => {
    const { client } = await openMcp(makeRepositoryWithCommit());
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(['brief', 'status', 'record', 'checkpoint', 'diff', 'cost', 'ask']);
    for (const { name, description = '', inputSchema } of tools) {
      expect(description.length, name).toBeGreaterThan(40);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    }
    expect(client.getInstructions()).toContain('Record decisions');
  });

  it('records what the commands record', async () => {
    const repository = makeRepositoryWithCommit();
    const { call } = await openMcp(repository, { env });
    const said = [
      { kind: 'note', text: 'The loop is in middleware', why: 'seen in the log' },
      { kind: 'decision', text: 'Server sessions', why: 'Revocation' },
      { kind: 'tried', text: 'fs.watch', why: 'It loses writes' },
      { kind: 'blocker', text: 'No access to staging' },
      { kind: 'task', text: 'T3: redirect' },
      { kind: 'blocker', text: 'staging', done: true },
      { kind: 'task', text: 'T3: redirect', done: true },
    ];
    for (const input of said)
      expect(await call('record', input)).toMatchObject({
        isError: false,
        text: expect.stringContaining(input.kind),
      });
    const state = stateOf(repository);
    expect(textsOf(state.notes)).toMatchObject([{ text: 'The loop is in middleware (seen in the log)' }]);
    expect(textsOf(state.decisions)).toMatchObject([{ text: 'Server sessions', rationale: 'Revocation' }]);
    expect(textsOf(state.tried)).toMatchObject([{ text: 'fs.watch', why: 'It loses writes' }]);
    expect(textsOf(state.blockers)).toMatchObject([{ resolvedAt: expect.any(Number) }]);
    expect(state.current.currentTask?.value).toEqual({ text: 'T3: redirect', status: 'done' });
  });

  it('tells of the work: brief, status, cost, diff; saves it, and asks', async () => {
    const repository = makeRepositoryWithCommit();
    const { call } = await openMcp(repository, { env });
    await call('record', { kind: 'decision', text: 'Server sessions', why: 'Revocation' });
    const brief = await call('brief', { max_tokens: 400 });
    expect(brief.text).toContain('quoted as background');
    expect(brief.text).toMatch(/> .*Server sessions \(.*Revocation/);
    expect((await call('checkpoint', { reason: 'Form works' })).text).toContain('ckpt 2 of x: Form works');
    repository.write('README', 'changed\n');
    expect((await call('diff', { from: '2' })).text).toBe('ckpt 2 → now\nmodified  README  +1 −1');
    expect((await call('cost')).text).toContain('spent  $0.00');
    expect((await call('ask', { question: 'Round half up?' })).isError).toBe(false);
    expect((await call('status')).text).toContain('? x asks, just now: Round half up?');
    await call('ask', { question: 'half', answer: 'Yes' });
    expect((await call('status')).text).not.toContain('asks');
    const { questions, decisions } = stateOf(repository);
    expect(textsOf(questions)).toMatchObject([{ answer: 'Yes' }]);
    const passedOn = textsOf(decisions).find((decision) => JSON.stringify(decision).includes('half up? Yes'));
    expect(passedOn).not.toHaveProperty('by');
  });

  it('records in the session it runs in, and over the budget says so without raising it', async () => {
    const repository = makeRepositoryWithCommit();
    startInBackground(repository, 'y', '--budget', '1');
    const { session } = orchJson<{ session: { id: string } }>(repository, ['session', 'status', '-e', 'y']);
    const { call } = await openMcp(repository, { env: { ORCH_SESSION: session.id } });
    expect((await call('record', { kind: 'note', text: 'inside' })).text).toContain('note recorded for y');
    expect(runOrch(repository, ['record', 'cost', '2', '-e', 'y']).status).toBe(4);
    const over = await call('record', { kind: 'note', text: 'over' });
    expect(over).toMatchObject({ isError: true, text: expect.stringContaining('is over budget') });
  });

  it('answers outside a repository with what is wrong', async () => {
    const repository = makeRepositoryWithCommit();
    const { call } = await openMcp(repository, { cwd: makeFolder() });
    const { isError, text } = await call('brief');
    expect(isError).toBe(true);
    expect(text).toMatch(/^error: .*repository/);
  });

  it('answers wrong calls with an error, and keeps working', async () => {
    const { client, call } = await openMcp(makeRepositoryWithCommit(), { env });
    await expect(client.callTool({ name: 'budget', arguments: { amount: '100' } })).rejects.toThrow(/budget/);
    for (const input of [
      {},
      { kind: 'cost', text: '1' },
      { kind: 'note', text: '' },
      { kind: 'note', text: 7 },
    ])
      expect(await call('record', input)).toMatchObject({ isError: true });
    expect(await call('record', { kind: 'note', text: 'x', budget: '+5' })).toMatchObject({ isError: true });
    expect(await call('diff', { from: 'no such' })).toMatchObject({ isError: true });
    expect(await call('record', { kind: 'note', text: 'fine' })).toMatchObject({ isError: false });
  });
});

describe('orch mcp, to raw bytes', () => {
  const error = (id: unknown, code: number) =>
    expect.objectContaining({ id, error: expect.objectContaining({ code }) });

  it('answers what is no message with the errors of JSON-RPC, and the rest as always', () => {
    const garbage = [
      'garbage',
      '{',
      '[]',
      'null',
      '7',
      '{"id":1}',
      '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      '\u0000\u0001',
      `${'['.repeat(200_000)}`,
    ];
    const { answers, status, stderr } = sayToMcp(
      makeRepositoryWithCommit(),
      `${garbage.join('\n')}\n\n\r\n${hello}${request('a', 'nope')}${request('b', 'ping')}`,
    );
    expect(status).toBe(0);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(answers.filter(({ id }) => id === null)).toHaveLength(garbage.length);
    expect(answers[0]).toEqual(error(null, -32700));
    expect(answers).toContainEqual(error('a', -32601));
    expect(answers).toContainEqual(expect.objectContaining({ id: 'b', result: {} }));
  });

  it('does what was asked before the client left, though the last line is cut', () => {
    const repository = makeRepositoryWithCommit();
    const note = callTool(1, 'record', { kind: 'note', text: 'the last words' });
    const { status, answers } = sayToMcp(repository, `${hello}${note}{"jsonrpc":"2.0","id":2,"meth`, { env });
    expect(status).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual([0, 1]);
    expect(textsOf(stateOf(repository).notes)).toMatchObject([{ text: 'the last words' }]);
  });

  it('ends at a line without an end', () => {
    const ran = sayToMcp(makeRepositoryWithCommit(), hello + 'x'.repeat(8 * 1024 * 1024));
    expect(ran.status).toBe(0);
    expect(ran.answers).toContainEqual(error(null, -32600));
  });

  it('refuses more than it can keep in mind, and answers all of it', () => {
    const calls = Array.from({ length: 200 }, (_, id) => callTool(id + 1, 'status', {}));
    const { answers } = sayToMcp(makeRepositoryWithCommit(), hello + calls.join(''));
    expect(answers).toHaveLength(201);
    expect(answers.filter((answer) => answer.error?.code === -32000).length).toBeGreaterThan(100);
  });

  it('ends, with little memory, where a client asks and never reads', async () => {
    const repository = makeRepositoryWithCommit();
    const child = spawn(process.execPath, ['--max-old-space-size=96', orchBin, 'mcp'], {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}); // it ends while it is spoken to: that is the point
    const ended = once(child, 'exit');
    const lists = request(1, 'tools/list').repeat(200);
    child.stdin.write(hello);
    const feed = () => {
      while (child.exitCode === null && child.stdin.write(lists));
    };
    child.stdin.on('drain', feed);
    feed();
    try {
      expect(await ended).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
