import { describe, expect, it } from 'vitest';
import {
  type DocumentContent,
  formatDocument,
  maxDocumentBytes,
  parseDocument,
  sealDocument,
} from '../../src/checkpoint/document/document.ts';
import { fitDocument, partEvents } from '../../src/checkpoint/document/fit-document.ts';
import { parseCheckpointId, parseEpicId, parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Event } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { emptyState } from '../../src/state/lists.ts';
import { cost, note } from '../support/store.ts';

const session = parseSessionId('sess-aaaa');
const writer = parseWriterId('w-1');

function eventsOf(count: number, text = 'text'): Event[] {
  return Array.from({ length: count }, (_, index) => ({
    at: index,
    by: writer,
    session,
    offset: index * 10,
    end: index * 10 + 10,
    fact: { kind: 'note' as const, id: `n${index}`, text },
  }));
}

function contentOf(events: Event[]): DocumentContent {
  return {
    format: 1,
    id: parseCheckpointId('ckpt-00000001-aaaaaa'),
    seq: 1,
    epicId: parseEpicId('e'),
    sessionId: session,
    sessionNumber: 1,
    writer,
    timestamp: '2026-01-01T00:00:00Z',
    trigger: 'manual',
    reason: null,
    summary: 'x',
    gitCommit: null,
    branch: null,
    snapshot: null,
    costUsd: 0,
    events,
    state: foldAll(emptyState, events),
  };
}

const stored = (change: object = {}) => {
  const { integrity: _, ...document } = sealDocument(contentOf(eventsOf(2)));
  return formatDocument(sealDocument({ ...document, ...change }));
};
const read = (bytes: Buffer) => parseDocument(bytes, 'it');

describe('a document', () => {
  it('of an orch that knew fewer lists is read, with the others empty', async () => {
    const { questions: _, ...known } = emptyState;
    const document = await read(stored({ state: known }));
    expect(document.state).toEqual(emptyState);
    expect((await parseDocument(stored({ state: known }), 'it', true)).state).toEqual(emptyState);
  });

  it('can be read back unchanged', async () => {
    expect(await read(stored())).toEqual(sealDocument(contentOf(eventsOf(2))));
  });

  it('keeps fields it does not know, on every level', async () => {
    const state = { ...emptyState, clock: 1, workers: { w: { value: 1, stamp: [1, 'w', 0] } } };
    const document = await read(stored({ mood: 'fine', state }));
    expect(document).toMatchObject({ mood: 'fine', state: { workers: { w: { value: 1 } } } });
    expect(await read(formatDocument(document))).toEqual(document);
  });

  it('of a newer format is refused before anything else is looked at', async () => {
    const newer = Buffer.from(JSON.stringify({ format: 3, everything: 'else is different' }));
    await expect(read(newer)).rejects.toMatchObject({ code: 'FORMAT_UNSUPPORTED' });
  });

  it('is damaged when any byte of its content changed', async () => {
    const bytes = stored();
    for (let at = 0; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      let same = false;
      try {
        same = JSON.stringify(await read(changed)) === JSON.stringify(await read(bytes));
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/INTEGRITY|FORMAT_UNSUPPORTED/) });
        continue;
      }
      expect(same).toBe(true); // only white space can change without harm
    }
  });

  it.each([
    ['not JSON', 'x'],
    ['a list', '[]'],
    ['null', 'null'],
    ['empty', ''],
  ])('is damaged when it is %s', async (_, text) => {
    await expect(read(Buffer.from(text))).rejects.toMatchObject({ code: 'INTEGRITY' });
  });

  it.each([
    ['seq', { seq: 'one' }],
    ['trigger', { trigger: 'whim' }],
    ['state.notes', { state: { ...emptyState, notes: { n: { value: 5, stamp: [1, 'w', 0] } } } }],
    [
      'state.ledger',
      { state: { ...emptyState, ledger: { w: { value: { folded: 'all' }, stamp: [1, 'w', 0] } } } },
    ],
  ])('I9: with a right checksum and a wrong %s is damaged', async (_, change) => {
    await expect(read(stored(change))).rejects.toMatchObject({ code: 'INTEGRITY' });
  });
});

describe('bounds', () => {
  it('part more than 200 events, or many long ones, into several checkpoints and lose none', () => {
    expect(partEvents([])).toEqual([[]]);
    for (const events of [eventsOf(450), eventsOf(100, 'x'.repeat(4_000))]) {
      const parts = partEvents(events);
      expect(parts.flat()).toEqual(events);
      expect(parts.every((part) => part.length <= 200)).toBe(true);
      expect(parts.length).toBeGreaterThan(2);
    }
  });

  it('make any document fit, without touching money or marks', async () => {
    const long = eventsOf(60, 'ü'.repeat(2_000)).flatMap((event) => {
      const text = 'ü'.repeat(2_000);
      const kinds: Event['fact'][] = [
        event.fact,
        { kind: 'tried', id: `t${event.offset}`, text },
        { kind: 'decision', id: `d${event.offset}`, text, rationale: text },
        { kind: 'blocker', id: `b${event.offset}`, text, resolvedAt: null },
        cost(3),
      ];
      return kinds.map((fact, index) => ({
        ...event,
        offset: event.offset * 10 + index,
        end: event.offset * 10 + index + 1,
        fact,
      }));
    });
    const content = { ...contentOf([]), state: foldAll(emptyState, long) };
    expect(formatDocument(sealDocument(content)).length).toBeGreaterThan(maxDocumentBytes);
    const { document: fitted, bytes } = fitDocument(content);
    expect(bytes.length).toBeLessThanOrEqual(maxDocumentBytes);
    expect(fitted.state.ledger).toEqual(content.state.ledger);
    expect(fitted.state.sessions).toEqual(content.state.sessions);
    expect(Object.keys(fitted.state.notes).length).toBeGreaterThan(0);
    expect((await read(bytes)).seq).toBe(1);
    const small = contentOf([{ ...(eventsOf(1)[0] as Event), fact: note('n') }]);
    expect(fitDocument(small).document).toEqual(sealDocument(small));
  });
});
