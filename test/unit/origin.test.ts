import { describe, expect, it } from 'vitest';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { type AtWork, judgeOrigin } from '../../src/record/which/origin.ts';
import type { Ancestor, Ancestry } from '../../src/system/process/ancestry.ts';

const epic = parseEpicId('a');
const session = parseSessionId('sess-aaaa');
const supervised: AtWork = { session, epic, kind: 'supervised', pid: 500, startedAt: 1_000 };
const hooked: AtWork = { ...supervised, kind: 'hooked' };
const library: AtWork = { ...supervised, kind: 'library' };
const grouped: AtWork = { ...supervised, group: '/sys/fs/cgroup/user/orch-500-x' };

const process = (pid: number, startedAt: number | null, more: Partial<Ancestor> = {}): Ancestor => ({
  pid,
  startedAt,
  isReaper: false,
  session: null,
  ...more,
});
const call = (chain: Ancestor[], more: Partial<Ancestry> = {}): Ancestry => ({
  chain: [process(900, 2_000), ...chain],
  hasTerminal: false,
  groups: [],
  ...more,
});
const shell = process(100, 10);
const young = process(800, 1_900);
const reaper = process(50, 5, { isReaper: true });

describe('where a call comes from', () => {
  it.each<[string, Ancestry, AtWork, string]>([
    ['a shell that is older than the session', call([young, shell]), supervised, 'outside'],
    ['a terminal', call([young], { hasTerminal: true }), supervised, 'outside'],
    ['below the supervisor', call([young, process(500, 1_000), shell]), supervised, 'parent'],
    ['below it, with a terminal', call([process(500, 1_000)], { hasTerminal: true }), supervised, 'parent'],
    ['below an agent with hooks', call([process(500, 1_000), shell]), hooked, 'parent'],
    ['below a program that works by itself', call([process(500, 1_000), shell]), library, 'outside'],
    [
      'a parent with the session in its environment',
      call([process(800, 1_900, { session })]),
      supervised,
      'environment',
    ],
    [
      'another session in its environment',
      call([process(800, 1_900, { session: 'sess-bbbb' }), shell]),
      supervised,
      'outside',
    ],
    [
      'the control group of its command',
      call([shell], { groups: ['orch-500-x'], hasTerminal: true }),
      grouped,
      'group',
    ],
    ['nothing above it', call([]), supervised, 'detached'],
    ['nothing above it but what adopts orphans', call([young, reaper]), supervised, 'detached'],
    ['nothing above it, an agent with hooks', call([]), hooked, 'outside'],
    ['start times that nobody knows', call([process(800, null)]), supervised, 'outside'],
    ['a terminal nobody knows of', call([], { hasTerminal: null }), supervised, 'outside'],
  ])('%s', (_, descent, atWork, expected) => {
    const origin = judgeOrigin(descent, [atWork], epic);
    expect(origin.kind === 'inside' ? origin.because : 'outside').toBe(expected);
  });

  it('detached is only from a session on the same epic, and from none where none is at work', () => {
    expect(judgeOrigin(call([]), [supervised], parseEpicId('b'))).toEqual({ kind: 'outside' });
    expect(judgeOrigin(call([]), [], epic)).toEqual({ kind: 'outside' });
  });

  it('is the session of the process that passes the variable of another one on', () => {
    const scheduler: AtWork = { ...supervised, session: parseSessionId('sess-bbbb'), pid: 700 };
    const worker = {
      ...call([]),
      chain: [session, session, null].map((own, at) =>
        process([900, 700, 500][at] ?? 0, 1_500, { session: own }),
      ),
    };
    const found = judgeOrigin(worker, [supervised, scheduler], parseEpicId('b'));
    expect(found).toMatchObject({ because: 'parent', session: 'sess-bbbb' });
    const agent = { ...call([]), chain: [process(900, 2_000, { session }), process(500, 1_000)] };
    expect(judgeOrigin(agent, [supervised, scheduler], epic)).toMatchObject({ session });
  });

  it('is not below itself', () => {
    expect(judgeOrigin({ ...call([]), chain: [process(500, 1_000), shell] }, [supervised], epic)).toEqual({
      kind: 'outside',
    });
  });
});
