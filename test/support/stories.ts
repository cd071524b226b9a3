import { noUsage } from '../../src/cost/ledger.ts';
import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { emptyState, type State } from '../../src/state/lists.ts';
import type { SessionId } from '../../src/types.ts';

/** One session as it is told: when, and what happened. */
export type Story = {
  readonly session: SessionId;
  readonly number: number;
  readonly parent?: SessionId;
  readonly agent?: string;
  /** The clone it happened in; the same one for all that name none. */
  readonly writer?: string;
  /** `17:38` on the day all stories happen on, or a whole `2026-03-01T17:38`. */
  readonly said: readonly (readonly [time: string, fact: Fact])[];
};

export const day = '2026-03-02';

export function momentOf(time: string): number {
  return Date.parse(`${time.includes('T') ? time : `${day}T${time}`}:00Z`);
}

/** The state that several sessions leave behind, told one after the other. */
export function tellStories(...stories: readonly Story[]): State {
  const events = stories.flatMap(
    ({ session, number, parent = null, agent = null, writer = 'w-story', said }): Event[] => {
      const by = parseWriterId(writer);
      const start: Fact = { kind: 'session_started', number, agent, parentSessionId: parent };
      const [first = ['09:00', start] as const] = said;
      return [[first[0], start] as const, ...said].map(([time, fact], index) => ({
        at: momentOf(time),
        by,
        session,
        offset: index * 10,
        end: index * 10 + 10,
        fact,
      }));
    },
  );
  return foldAll(emptyState, events);
}

export const [first, second, third] = [
  parseSessionId('sess-first'),
  parseSessionId('sess-second'),
  parseSessionId('sess-third'),
];

export const facts = {
  running: { kind: 'session_running' },
  paused: (reason: string | null = null) => ({ kind: 'session_paused', reason }),
  note: (id: string, text: string) => ({ kind: 'note', id, text }),
  tried: (id: string, text: string, why: string | null = null) => ({ kind: 'tried', id, text, why }),
  blocker: (id: string, text: string, resolvedAt: number | null = null) => ({
    kind: 'blocker',
    id,
    text,
    resolvedAt,
  }),
  decision: (id: string, text: string, rationale: string | null = null) => ({
    kind: 'decision',
    id,
    text,
    rationale,
  }),
  issue: (
    id: string,
    title: string | null,
    status: 'open' | 'in_progress' | 'done' | 'deferred',
    severity: 'critical' | 'high' | 'medium' | 'low' | null = null,
    location: string | null = null,
  ) => ({ kind: 'issue', id, title, status, severity, location }),
  file: (
    path: string,
    change: 'added' | 'modified' | 'deleted' | 'read',
    {
      added = null,
      removed = null,
      priority = null,
      why = null,
    }: {
      added?: number | null;
      removed?: number | null;
      priority?: number | null;
      why?: string | null;
    } = {},
  ) => ({ kind: 'file', path, change, added, removed, priority, why }),
  gate: (name: string, status: 'passed' | 'failed' | 'timed_out', output = '', knownBefore = false) => ({
    kind: 'gate',
    name,
    status,
    durationMs: 10,
    tree: null,
    output,
    knownBefore,
  }),
  set: (key: string, value: Extract<Fact, { kind: 'current_set' }>['value']) => ({
    kind: 'current_set',
    key,
    value,
  }),
  cost: (micros: number) => ({ kind: 'cost', model: null, usage: { ...noUsage, micros } }),
  budget: (limit: number | null) => ({ kind: 'budget_set', limit }),
} satisfies { [name: string]: Fact | ((...told: never[]) => Fact) };
