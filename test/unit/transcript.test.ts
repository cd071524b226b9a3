import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findTranscripts, readTranscript, unread } from '../../src/agents/transcript/transcript.ts';
import { noTokens, type Tokens } from '../../src/cost/tokens.ts';
import { makeFolder } from '../support/repository.ts';
import { foreignLines, formatAccount, formatMessage } from '../support/transcripts.ts';

const model = 'claude-sonnet-4-5';
const output = (amount: number): Tokens => ({ ...noTokens, output: amount });
const write = (id: string, amount: number) => `${formatMessage({ id, model, tokens: output(amount) })}\n`;

/** A file that is read again and again, as hooks do it. */
function follow(...paths: string[]) {
  let state = unread;
  return (...others: string[]) => {
    const update = readTranscript(state, others.length > 0 ? others : paths);
    state = update.state;
    return { ...update, output: update.reading.counted[model]?.tokens.output ?? 0 };
  };
}

function makeTranscript(text: string): string {
  const path = join(makeFolder(), 'session.jsonl');
  writeFileSync(path, text);
  return path;
}

describe('a transcript', () => {
  it('counts a message once, at the last that was written of it', () => {
    const path = makeTranscript(write('a', 1) + write('a', 1) + write('b', 5) + write('a', 200));
    const read = follow(path);
    expect(read().output).toBe(205);
    expect(read().output).toBe(205);
    appendFileSync(path, write('b', 6) + write('c', 1));
    expect(read().output).toBe(207);
  });

  it('counts the end of a message, whatever is only repeated before it', () => {
    const begin = (prefix: string, length: number) =>
      Array.from({ length }, (_, index) => write(`${prefix}${index}`, 1)).join('');
    const others = begin('other', 40);
    const path = makeTranscript(others + write('a', 1) + others + begin('later', 12));
    const read = follow(path);
    expect(read().output).toBe(53);
    appendFileSync(path, write('a', 200));
    expect(read().output).toBe(252);
  });

  it('adds up the agent’s own figures, and the tokens that have none', () => {
    const lines = [
      { id: 'a', model, tokens: output(3), costUSD: 0.25 },
      { id: 'b', model, tokens: output(4) },
    ].map(formatMessage);
    expect(follow(makeTranscript(`${lines.join('\n')}\n`))().reading.counted[model]).toEqual({
      tokens: output(7),
      nanos: 250_000_000,
      bare: 4,
    });
  });

  it('tells requests apart', () => {
    const message = { id: 'a', model, tokens: output(3) };
    const lines = [message, { ...message, request: 'other' }].map(formatMessage);
    expect(follow(makeTranscript(`${lines.join('\n')}\n`))().output).toBe(6);
  });

  it('reads only what was added', () => {
    const path = makeTranscript(write('a', 1) + write('b', 2));
    const read = follow(path);
    read();
    const bytes = readFileSync(path);
    // Same length, same end, another beginning: whoever reads it again sees another message.
    const changed = Buffer.from(bytes.toString().replace('"id":"a"', '"id":"x"'));
    expect(changed.length).toBe(bytes.length);
    writeFileSync(path, changed, { flag: 'r+' });
    appendFileSync(path, write('c', 4));
    expect(read().output).toBe(7);
  });

  it('leaves a partial last line for later, cut anywhere', () => {
    const line = Buffer.from(write('a', 7));
    for (let cut = 0; cut <= line.length; cut += 1) {
      const path = makeTranscript('');
      const read = follow(path);
      appendFileSync(path, line.subarray(0, cut));
      expect(read().output).toBe(cut >= line.length - 1 ? 7 : 0);
      appendFileSync(path, line.subarray(cut));
      expect(read().output).toBe(7);
      expect(read().notices).toEqual([]);
    }
  });

  it('counts the last line an agent wrote before it was killed, once', () => {
    const path = makeTranscript(write('a', 7).trimEnd());
    const read = follow(path);
    expect(read().output).toBe(7);
    appendFileSync(path, `\n${write('b', 1)}`);
    expect(read().output).toBe(8);
  });

  it('reads lines of 10 MB, with and without something to say', () => {
    const long = 'é'.repeat(5 * 1024 * 1024);
    const told = formatMessage({ id: 'big', model, tokens: output(4) }).replace('Grüße', long);
    const untold = JSON.stringify({ type: 'user', toolUseResult: long });
    const path = makeTranscript(`${write('a', 1)}${told}\n${untold}\n${write('b', 2)}`);
    expect(follow(path)().output).toBe(7);
  });

  it('passes over a line past all bounds', () => {
    const path = makeTranscript(write('a', 1));
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    for (let megabyte = 0; megabyte < 66; megabyte++) appendFileSync(path, chunk);
    const read = follow(path);
    expect(read().output).toBe(1);
    appendFileSync(path, `\n${write('b', 2)}`);
    expect(read().output).toBe(3);
  });

  it('passes over the lines of others', () => {
    const path = makeTranscript(`${foreignLines.join('\n')}\n${write('a', 3)}`);
    const { reading } = follow(path)();
    expect(Object.keys(reading.counted)).toEqual([model]);
  });

  it('may end its lines as Windows does', () => {
    expect(follow(makeTranscript((write('a', 3) + write('b', 1)).replaceAll('\n', '\r\n')))().output).toBe(4);
  });

  it('may not be there, or not to be read', () => {
    const read = follow(join(makeFolder(), 'none.jsonl'));
    expect(read()).toMatchObject({ output: 0, notices: [] });
    expect(follow(makeFolder())()).toMatchObject({ notices: [{ problem: 'unreadable' }] });
  });

  it('that cannot be read for a while is read on afterwards', () => {
    const path = makeTranscript(write('a', 3));
    const read = follow(path);
    read();
    appendFileSync(path, write('b', 1));
    const away = `${path}.away`;
    renameSync(path, away);
    mkdirSync(path);
    expect(read().notices).toMatchObject([{ path }]);
    rmSync(path, { recursive: true });
    renameSync(away, path);
    chmodSync(path, 0o600);
    expect(read().output).toBe(4);
  });
});

describe('a transcript that is not as it was left', () => {
  const long = Array.from({ length: 20 }, (_, index) => write(`m${index}`, 1)).join('');

  it('was cut: what was counted stays, what comes is counted', () => {
    const path = makeTranscript(long);
    const read = follow(path);
    expect(read().output).toBe(20);
    truncateSync(path, Buffer.byteLength(write('m0', 1)));
    expect(read()).toMatchObject({ output: 20, notices: [{ path, problem: 'truncated' }] });
    appendFileSync(path, write('new', 5));
    expect(read()).toMatchObject({ output: 25, notices: [] });
  });

  it('was rotated: another file has its name', () => {
    const path = makeTranscript(long);
    const read = follow(path);
    read();
    renameSync(path, `${path}.1`);
    writeFileSync(path, write('m3', 1) + write('new', 5));
    expect(read()).toMatchObject({ output: 25, notices: [{ path, problem: 'replaced' }] });
    expect(read()).toMatchObject({ output: 25, notices: [] });
  });

  it('was written anew in its place, longer than before', () => {
    const path = makeTranscript(write('a', 1));
    const read = follow(path);
    read();
    writeFileSync(path, long);
    expect(read()).toMatchObject({ output: 21, notices: [{ path, problem: 'replaced' }] });
  });

  it('was deleted, and perhaps comes back', () => {
    const path = makeTranscript(long);
    const read = follow(path);
    read();
    copyFileSync(path, `${path}.copy`);
    rmSync(path);
    expect(read()).toMatchObject({ output: 20, notices: [{ path, problem: 'gone' }] });
    expect(read()).toMatchObject({ output: 20, notices: [] });
    renameSync(`${path}.copy`, path);
    appendFileSync(path, write('new', 5));
    expect(read().output).toBe(25);
  });
});

describe('several files', () => {
  it('count a message once, however many have it', () => {
    const first = makeTranscript(write('a', 3) + write('b', 1));
    const second = makeTranscript(write('a', 3) + write('c', 1));
    expect(follow(first, second)().output).toBe(5);
    expect(follow(second, first)().output).toBe(5);
    const read = follow(first);
    expect(read().output).toBe(4);
    expect(read(second).output).toBe(5);
  });

  it('count once a message that was copied long after', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => write(`m${index}`, 1)).join('');
    const first = makeTranscript(many);
    const read = follow(first);
    expect(read().output).toBe(2_000);
    const fork = makeTranscript(many + write('new', 7));
    expect(read(fork).output).toBe(2_007);
    rmSync(first);
    writeFileSync(first, many);
    expect(read(first, fork).output).toBe(2_007);
  });

  it('are an agent’s own and those of its helpers, but not of other sessions’', () => {
    const path = makeTranscript(write('a', 1));
    const folder = dirname(path);
    const place = (name: string, session: string, id: string) => {
      const file = join(folder, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, write(id, 1).replace('agent-session', session));
      return file;
    };
    const expected = [
      path,
      place('session/subagents/agent-1.jsonl', 'session', 'b'),
      place('session/subagents/agent-2.jsonl', 'session', 'c'),
      place('agent-3.jsonl', 'session', 'd'),
      place('subagents/agent-4.jsonl', 'session', 'e'),
    ];
    place('agent-5.jsonl', 'other', 'f');
    place('session/subagents/notes.txt', 'session', 'g');
    place('other/subagents/agent-6.jsonl', 'session', 'h');
    expect(findTranscripts(path)).toEqual(expected);
    expect(follow(...findTranscripts(path))().output).toBe(5);
  });
});

describe('the agent’s own account', () => {
  it('is the last of each of its sessions, and their sum', () => {
    const account = (amount: number, session: string) =>
      `${formatAccount({ [model]: { tokens: output(amount), costUSD: amount } }, { sessionId: session })}\n`;
    const path = makeTranscript(account(1, 's1') + account(3, 's1') + account(2, 's2') + account(3, 's1'));
    const { reading } = follow(path)();
    expect(reading.accounts[model]).toMatchObject({ nanos: 5e9, tokens: { output: 5 } });
    expect(reading.counted).toEqual({});
  });
});

describe('Codex', () => {
  const used = (input: number) => ({ input_tokens: input, cached_input_tokens: 0, output_tokens: 0 });
  const meta = (id: string) => `${JSON.stringify({ type: 'session_meta', payload: { id } })}\n`;
  const turn = (name: string) => `${JSON.stringify({ type: 'turn_context', payload: { model: name } })}\n`;
  const total = (input: number) =>
    `${JSON.stringify({ type: 'event_msg', payload: { type: 'token_count', info: { total_token_usage: used(input) } } })}\n`;
  const started = (id: string) => `${JSON.stringify({ type: 'thread.started', thread_id: id })}\n`;
  const completed = (input: number) => `${JSON.stringify({ type: 'turn.completed', usage: used(input) })}\n`;
  const inputs = (...paths: string[]) => {
    const { counted } = follow(...paths)().reading;
    return Object.fromEntries(Object.entries(counted).map(([name, { tokens }]) => [name, tokens.input]));
  };

  it('tells totals, repeated, by whichever model is at work', () => {
    const path = makeTranscript(
      meta('t') + turn('gpt-5') + total(10) + total(10) + total(30) + turn('gpt-6') + total(30) + total(35),
    );
    expect(inputs(path)).toEqual({ 'gpt-5': 30, 'gpt-6': 5 });
  });

  it('is of one thread, whatever a file quotes of another', () => {
    const parent = makeTranscript(meta('t') + turn('gpt-5') + total(30));
    const other = makeTranscript(meta('u') + meta('t') + turn('gpt-5') + total(9));
    expect(inputs(parent, other)).toEqual({ 'gpt-5': 39 });
  });

  it('counts anew once its window was overrun', () => {
    expect(inputs(makeTranscript(meta('t') + turn('gpt-5') + total(30) + total(0) + total(4)))).toEqual({
      'gpt-5': 34,
    });
  });

  it('gives the same read in pieces, rotated, or twice', () => {
    const path = makeTranscript(meta('t') + turn('gpt-5') + total(10));
    const read = follow(path);
    read();
    appendFileSync(path, total(12) + turn('gpt-6') + total(20).trimEnd());
    read();
    appendFileSync(path, `\n${total(21)}`);
    expect(read().reading.counted).toMatchObject({
      'gpt-5': { tokens: { input: 12 } },
      'gpt-6': { tokens: { input: 9 }, bare: 9 },
    });
    const text = readFileSync(path);
    rmSync(path);
    read();
    writeFileSync(path, text);
    expect(read().reading.counted).toMatchObject({
      'gpt-5': { tokens: { input: 12 } },
      'gpt-6': { tokens: { input: 9 } },
    });
  });

  it('tells in its events the total of a thread that was resumed', () => {
    const path = makeTranscript(started('t') + completed(10) + started('t') + completed(25));
    expect(inputs(path)).toEqual({ codex: 25 });
    const other = makeTranscript(started('u') + completed(10) + started('v') + completed(7));
    expect(inputs(path, other)).toEqual({ codex: 42 });
  });

  it('is counted once where both its events and its rollout file are given', () => {
    const events = makeTranscript(started('t') + completed(25));
    const rollout = makeTranscript(meta('t') + turn('gpt-5') + total(20));
    expect(inputs(events, rollout)).toEqual({ 'gpt-5': 20, codex: 5 });
    appendFileSync(rollout, total(25));
    expect(inputs(rollout, events)).toEqual({ 'gpt-5': 25 });
  });
});
