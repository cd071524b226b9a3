import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { waitForTranscript } from '../../src/hooks/read-agent.ts';
import { parseEpicId, parseSessionId, parseWriterId } from '../../src/ids.ts';
import { emptyLink } from '../../src/session/agent/agent-link.ts';
import type { Fact } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { emptyState } from '../../src/state/lists.ts';
import { makeFolder } from '../support/repository.ts';
import { cost } from '../support/store.ts';

const session = parseSessionId('sess-aaaa');
const about = { session, epic: parseEpicId('x'), because: 'branch' as const, parentSessionId: null };
const budget: Fact = { kind: 'budget_set', limit: 100 };

function stateOf(...facts: Fact[]) {
  const events = facts.map((fact, index) => {
    return { at: 0, by: parseWriterId('w'), session, offset: index * 10, end: index * 10 + 10, fact };
  });
  return foldAll(emptyState, events);
}

/** A clock that shows how often it was looked at: it only goes on by that, up to `most`, and then by a lot. */
function makeClock(most: number) {
  let looks = 0;
  return { clock: { now: () => 0, elapsed: () => (++looks > most ? 1e9 : 0) }, looks: () => looks };
}

describe('what a tool about to be used has cost', () => {
  const mark = 'toolu_7';
  const line = `${JSON.stringify({ message: { content: [{ type: 'tool_use', id: mark }] } })}\n`;
  const linkTo = (transcript: string, agent = 'claude') => ({
    ...emptyLink(about, agent),
    transcripts: [transcript],
  });

  it('is waited for where there is a budget, in whichever file of the conversation it comes', async () => {
    for (const name of ['t.jsonl', join('t', 'subagents', 'agent-1.jsonl')]) {
      const folder = makeFolder();
      mkdirSync(join(folder, 't', 'subagents'), { recursive: true });
      const transcript = join(folder, 't.jsonl');
      writeFileSync(transcript, `${'x'.repeat(1_000)}\n`);
      const { clock, looks } = makeClock(1_000);
      const waiting = waitForTranscript({ clock }, linkTo(transcript), stateOf(budget), { mark });
      expect(looks()).toBeGreaterThan(0);
      appendFileSync(join(folder, name), line);
      await waiting;
      expect(looks()).toBeLessThan(1_000);
    }
  });

  it('is not waited for longer than is worth it', async () => {
    const { clock, looks } = makeClock(3);
    await waitForTranscript({ clock }, linkTo(join(makeFolder(), 'none.jsonl')), stateOf(budget), { mark });
    expect(looks()).toBe(4);
  });

  it('is not waited for where it changes nothing: without a budget, past it, and with Codex', async () => {
    const none = join(makeFolder(), 'none.jsonl');
    const { clock, looks } = makeClock(0);
    await waitForTranscript({ clock }, linkTo(none), stateOf(), { mark });
    await waitForTranscript({ clock }, linkTo(none), stateOf(budget, cost(100)), { mark });
    await waitForTranscript({ clock }, linkTo(none, 'codex'), stateOf(budget), { mark });
    expect(looks()).toBe(0);
  });

  it('is waited for when a turn is over, with or without a budget, until its answer is the last that was said', async () => {
    const transcript = join(makeFolder(), 't.jsonl');
    const say = (type: string, text: string) =>
      appendFileSync(
        transcript,
        `${JSON.stringify({ type, message: { content: [{ type: 'text', text }] } })}\n`,
      );
    const answer = 'It said "done" \\ and\nwent.';
    say('assistant', answer);
    say('user', 'Once more');
    const { clock, looks } = makeClock(1_000);
    const waiting = waitForTranscript({ clock }, linkTo(transcript), stateOf(), { answer });
    expect(looks()).toBeGreaterThan(0);
    say('assistant', answer);
    appendFileSync(transcript, '{"type":"cost-state"}\n');
    await waiting;
    const seen = looks();
    expect(seen).toBeLessThan(1_000);
    await waitForTranscript({ clock }, linkTo(transcript), stateOf(), { answer });
    expect(looks()).toBe(seen);
  });

  it('is waited for though a tool was given the same words before', async () => {
    const transcript = join(makeFolder(), 't.jsonl');
    const write = (content: object) =>
      appendFileSync(
        transcript,
        `${JSON.stringify({ type: 'assistant', message: { content: [content] } })}\n`,
      );
    write({ type: 'tool_use', name: 'Bash', input: { command: 'echo done' } });
    const { clock, looks } = makeClock(1_000);
    const waiting = waitForTranscript({ clock }, linkTo(transcript), stateOf(), { answer: 'done' });
    expect(looks()).toBeGreaterThan(0);
    write({ type: 'text', text: 'done' });
    await waiting;
    expect(looks()).toBeLessThan(1_000);
  });
});
