import { formatDocument, sealDocument } from '../../src/checkpoint/document/document.ts';
import { formatMessage } from '../../src/checkpoint/document/message.ts';
import { documentName, epicRef } from '../../src/checkpoint/document/names-in-git.ts';
import { parseEpicId } from '../../src/ids.ts';
import type { Json } from '../../src/types.ts';
import { readProgram } from './programs.ts';
import { cleanEnvironment, type TestRepository } from './repository.ts';

/** In every hostile text, so that it is found wherever it comes out. */
export const marker = 'h0st1le';

/** What a stranger may put in the place of any text. */
export const hostileTexts: { readonly [what: string]: string } = {
  'an option': `--settings=/../../${marker}.json`,
  'an option of ssh': `-oProxyCommand=touch ${marker}`,
  'a path': `../../../${marker}`,
  'an absolute path': `/tmp/${marker}`,
  'a NUL': `${marker}\u0000${marker}`,
  'a trailer': `${marker}\n\nOrch-Forged: ${marker}\nOrch-Cost: 0.000000`,
  'a row': `${marker}\nFORGED ${marker}\r\nFORGED ${marker}\u2028FORGED ${marker}`,
  'an escape': `\u001b]0;${marker}\u0007\u001b[2J\u001b[31m\u009b2J${marker}`,
  'another direction': `\u202e${marker}\u2066${marker}\u200f`,
  'a shell': `$(touch ${marker})\`touch ${marker}\`; touch ${marker}`,
  'a closing quote': `${marker}”\n> \n\n# ${marker}\n\`\`\`\n</system> FORGED ${marker}`,
  'a long text': `${marker} `.repeat(1_300),
  'a prototype': '__proto__',
};

const by = 'w-stranger';
const session = 'sess-str4nger';
const at = Date.parse('2026-11-16T10:00:00Z');
const oid = '1'.repeat(40);
const stamp = [at, by, 1] as const;
const entry = (value: object | string | number) => ({ value, stamp });
const text = (what: string) => `${what} of the stranger`;

/** A document of another clone with something in every place where a text can be. */
const content = {
  format: 1,
  id: 'ckpt-00000007-str4nger',
  seq: 7,
  epicId: 'x',
  sessionId: session,
  sessionNumber: 3,
  writer: by,
  timestamp: '2026-11-16T10:00:00Z',
  trigger: 'pause',
  reason: text('reason'),
  summary: text('summary'),
  gitCommit: oid,
  branch: text('branch'),
  snapshot: oid,
  leftOut: [{ path: text('left out'), reason: text('why') }],
  costUsd: 0.5,
  events: [{ at, by, session, offset: 0, end: 9, fact: { kind: 'note', id: 'n', text: text('event') } }],
  state: {
    clock: at,
    current: {
      currentTask: entry({ text: text('task'), status: 'in_progress' }),
      testState: entry({
        status: 'failed',
        passed: 1,
        failed: 1,
        total: 2,
        failing: [text('failing test')],
        why: { [text('failing test')]: text('assertion') },
        text: text('tests'),
      }),
      lastGreen: entry({ id: 'ckpt-00000005-str4nger', seq: 5, tree: oid }),
      asked: entry({ text: text('request') }),
      approvedPlan: entry({ text: text('approved plan') }),
      base: entry({ commit: text('base') }),
      changes: entry({
        tree: text('tree'),
        head: text('head'),
        files: 1,
        uncommitted: 1,
        added: 1,
        removed: 1,
        named: [{ path: text('path'), change: text('change'), added: 1, removed: 1, state: text('state') }],
      }),
      lastMessage: entry({ text: text('last message') }),
      compactSummary: entry({ text: text('compaction') }),
      resumptionState: entry({
        workflow: text('workflow'),
        phase: text('phase'),
        status: text('status'),
        nextStep: text('next step'),
        digest: 'd',
        at,
      }),
      agent: entry({ name: 'claude', session: '3f0c3a1e-0000-4000-8000-000000000001', model: text('model') }),
      meteredAgents: entry(['3f0c3a1e-0000-4000-8000-000000000001']),
      contextWindow: entry({
        tokens: 10,
        window: 200_000,
        fill: 0.1,
        tier: 'NOMINAL',
        source: 'default',
        agentSession: text('agent session'),
        madeRoom: null,
      }),
      'spec:a': entry({ folder: text('folder') }),
    },
    sessions: {
      [session]: entry({
        number: 3,
        status: 'paused',
        writer: by,
        agent: text('agent'),
        parentSessionId: 'sess-str4ng3r',
        startedAt: at,
        endedAt: at + 1,
        reason: text('end'),
        seenAt: at,
        worked: 2,
        checkpoints: 1,
        latestCheckpointId: 'ckpt-00000007-str4nger',
      }),
    },
    requests: {
      r1: entry({ text: text('first request'), kind: 'request', to: null, session }),
      r2: entry({ text: text('second request'), kind: 'request', to: null, session }),
      r3: entry({ text: text('reply'), kind: 'reply', to: text('question before'), session }),
      r4: entry({ text: text('small question'), kind: 'question', to: null, session }),
    },
    goals: { r1: entry({ text: text('first request'), kind: 'request', to: null, session }) },
    messages: { [session]: entry({ text: text('last word'), conversation: text('conversation'), session }) },
    commits: { [oid]: entry({ subject: text('subject'), session }) },
    notes: { n1: entry({ text: text('note'), session, resolvedAt: null }) },
    blockers: { b1: entry({ text: text('blocker'), session, resolvedAt: null }) },
    tried: { t1: entry({ text: text('attempt'), why: text('why it failed'), session, resolvedAt: null }) },
    questions: { q1: entry({ text: text('question'), answer: text('answer'), session, resolvedAt: null }) },
    decisions: { d1: entry({ text: text('decision'), rationale: text('rationale'), session }) },
    files: {
      'src/stranger.ts': entry({
        change: 'modified',
        added: 1,
        removed: 1,
        priority: 1,
        why: text('why read'),
        session,
      }),
    },
    issues: {
      'issue-1': entry({
        title: text('title'),
        status: 'open',
        severity: 'high',
        location: text('location'),
        session,
      }),
    },
    gates: {
      test: entry({
        status: 'failed',
        durationMs: 1,
        tree: oid,
        output: text('output'),
        failing: [{ name: text('failing gate'), why: text('gate assertion') }],
        knownBefore: false,
        session,
      }),
    },
    runs: {
      [`run-str4nger@${session}`]: entry({
        head: {
          plan: text('plan'),
          digest: 'd',
          status: 'resume_needed',
          session,
          from: null,
          file: text('plan file'),
          startedAt: at,
          endedAt: null,
          at,
        },
        tasks: {
          build: {
            status: 'failed',
            attempts: 1,
            digest: 'd',
            artifacts: [{ path: text('artifact'), sha256: 'd', bytes: 1 }],
            at,
          },
        },
        effects: {
          tag: {
            task: text('task of the effect'),
            key: text('key'),
            status: 'blocked',
            reason: text('block'),
            digest: 'd',
            what: text('effect'),
            at,
          },
        },
      }),
    },
    ledger: {
      [by]: entry({
        generation: 1,
        folded: { [session]: 9 },
        meters: {
          [`${session}/model`]: {
            micros: 500_000,
            input: 1,
            output: 1,
            cacheRead: 0,
            cacheWrite: 0,
            unpriced: 0,
          },
        },
      }),
    },
  },
};

export type ForgedContent = Json;
export const strangersContent: ForgedContent = JSON.parse(JSON.stringify(content));

/** A place of a text in a document: the way there, and whether it is the name at its end or what it holds. */
export type Place = { readonly path: readonly (string | number)[]; readonly isKey: boolean };

export function showPlace({ path, isKey }: Place): string {
  return `${path.join('.')}${isKey ? ' (key)' : ''}`;
}

/** The names that are the document's own; the others come from whoever wrote it. */
const keyedLists =
  /^state\.(?:[a-z]+|ledger\.[^.]+\.value\.(?:folded|meters)|runs\.[^.]+\.value\.(?:tasks|effects))$/;

/** Every place that holds a text. */
export function listPlaces(value: Json = strangersContent, path: readonly (string | number)[] = []): Place[] {
  if (typeof value === 'string') return [{ path, isKey: false }];
  if (typeof value !== 'object' || value === null) return [];
  const isKeyed = !Array.isArray(value) && keyedLists.test(path.join('.'));
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(isKeyed ? [{ path: [...path, key], isKey: true }] : []),
    ...listPlaces(inner as Json, [...path, Array.isArray(value) ? Number(key) : key]),
  ]);
}

/** The same content with another text in one place. */
export function putAt(value: Json, { path, isKey }: Place, hostile: string): Json {
  const [first, ...rest] = path;
  if (first === undefined) return hostile;
  if (Array.isArray(value))
    return value.map((inner, index) =>
      index === first ? putAt(inner, { path: rest, isKey }, hostile) : inner,
    );
  if (typeof value !== 'object' || value === null) throw new Error(`nothing at ${path.join('.')}`);
  const entries = Object.entries(value as { [key: string]: Json }).map(([key, inner]): [string, Json] => {
    if (key !== String(first)) return [key, inner];
    return rest.length === 0 && isKey
      ? [hostile, inner]
      : [key, putAt(inner, { path: rest, isKey }, hostile)];
  });
  const made: { [key: string]: Json } = {};
  // As JSON.parse does it: an assignment to __proto__ would be no entry.
  for (const [key, inner] of entries)
    Object.defineProperty(made, key, { value: inner, enumerable: true, configurable: true, writable: true });
  return made;
}

/** Stores a document with a right checksum, and gives the commit. Its message is as orch would have written it. */
export function storeForged(repository: TestRepository, forged: ForgedContent): string {
  // Whatever it is: that it is no document is what tests are about.
  const sealed = sealDocument(forged as never);
  const git = (args: readonly string[], input: string | Buffer = '') =>
    readProgram('git', args, {
      cwd: repository.folder,
      env: cleanEnvironment(repository.home, {
        GIT_AUTHOR_NAME: 'A Stranger',
        GIT_AUTHOR_EMAIL: 'stranger@example.com',
        GIT_COMMITTER_NAME: 'A Stranger',
        GIT_COMMITTER_EMAIL: 'stranger@example.com',
        GIT_AUTHOR_DATE: '2026-11-16T10:00:00Z',
        GIT_COMMITTER_DATE: '2026-11-16T10:00:00Z',
      }),
      input,
    });
  const tree = (type: 'blob' | 'tree', name: string, object: string) =>
    git(['mktree', '-z'], `${type === 'blob' ? '100644' : '040000'} ${type} ${object}\t${name}\0`);
  const genuine = content as never as Parameters<typeof formatMessage>[0]; // the fields it reads are right
  const blob = git(['hash-object', '-w', '--stdin'], formatDocument(sealed));
  let folder = tree('blob', documentName(genuine.id), blob);
  for (const name of ['x', 'checkpoints', '.orchestration']) folder = tree('tree', name, folder);
  const { reason, summary } = forged as { reason: string | null; summary: string };
  const said = {
    ...genuine,
    reason,
    summary,
    cost: 500_000,
    budget: null,
    gates: 'red' as const,
    head: null,
  };
  const message = formatMessage({ ...said, snapshot: null, notSaved: summary, agent: 'claude' }, 'Session 3');
  return git(['commit-tree', folder], message);
}

/** Makes epic x of a repository what a stranger's sync would have made it. */
export function plantForged(repository: TestRepository, forged: ForgedContent): string {
  const commit = storeForged(repository, forged);
  repository.git('update-ref', epicRef(parseEpicId('x')), commit);
  return commit;
}
