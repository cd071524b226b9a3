import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEpicId, parseSessionId } from '../../src/ids.ts';
import { resolveDestination } from '../../src/record/which/which-session.ts';
import { recordTo } from '../../src/session/calls.ts';
import { endSession } from '../../src/session/lifecycle.ts';
import { errorOf, orchJson, runOrch } from '../support/orch.ts';
import { startRecorder } from '../support/recorders.ts';
import { makeRepositoryWithCommit, type TestRepository } from '../support/repository.ts';
import { goOn, readHistory, start } from '../support/sessions.ts';
import { note, withOrch } from '../support/store.ts';

const engine = 'native';
const epic = parseEpicId('a');

const journalOf = ({ folder }: TestRepository, session: string) =>
  join(folder, '.git', 'orchestration', 'journal', `${session}.jsonl`);

/** Ends a session and starts the next. */
function replaceSession({ folder: cwd }: TestRepository, target: Parameters<typeof endSession>[1]) {
  return withOrch({ cwd, engine }, async (orch) => {
    await endSession(orch, target, 'pause', null);
    return (await goOn(orch, { epic })).target;
  });
}

describe('a record that comes after its session', () => {
  it.each([
    ['with --epic', ['-e', 'a'], {}],
    ['with ORCH_EPIC', [], { ORCH_EPIC: 'a' }],
    ['with both', ['-e', 'a'], { ORCH_EPIC: 'a' }],
    ['with neither', [], {}],
  ])('exits 1 and is not in the next one (%s)', async (_, args, env) => {
    const repository = makeRepositoryWithCommit();
    const { target } = await withOrch({ cwd: repository.folder, engine }, (orch) => start(orch, { epic }));
    await replaceSession(repository, target);
    expect(existsSync(journalOf(repository, target.session))).toBe(false);
    const late = runOrch(repository, ['record', 'note', 'late', ...args, '--json'], {
      env: { ORCH_SESSION: target.session, ...env },
    });
    expect(late.status).toBe(1);
    expect(errorOf(late)).toMatchObject({ code: 'SESSION_NOT_FOUND', data: { sessionId: target.session } });
    expect(orchJson(repository, ['session', 'status', '-e', 'a'])).toMatchObject({ pendingEvents: 0 });
  });

  it('of another epic goes where it says', async () => {
    const repository = makeRepositoryWithCommit();
    const { target } = await withOrch({ cwd: repository.folder, engine }, (orch) => start(orch, { epic }));
    await replaceSession(repository, target);
    const env = { ORCH_SESSION: target.session };
    expect(runOrch(repository, ['record', 'note', 'n', '-e', 'b'], { env }).status).toBe(0);
  });

  it('was resolved to its session in time, and is refused all the same', async () => {
    const repository = makeRepositoryWithCommit();
    const cwd = repository.folder;
    const { target } = await withOrch({ cwd, engine }, (orch) => start(orch, { epic }));
    await withOrch({ cwd, engine }, async (orch) => {
      const { destination } = await resolveDestination(orch, { given: 'a', create: true, agent: null });
      expect(destination).toMatchObject({ kind: 'running', session: target.session });
      await replaceSession(repository, target);
      await expect(recordTo(orch, destination, [note('late')])).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      });
    });
  });
});

it('I4: of many records that race the ends of sessions, each is in its own session, or exits 1', async () => {
  const repository = makeRepositoryWithCommit();
  const cwd = repository.folder;
  const options = { cwd, engine } as const;
  let { target } = await withOrch(options, (orch) => start(orch, { epic }));
  const meant = new Map<string, string>();
  let refused = 0;
  for (let round = 0; round < 6; round++) {
    const { session } = target;
    const recorders = [0, 1, 2, 3].map((index) => {
      const text = `n${round}-${index}`;
      meant.set(text, session);
      const args = index % 2 === 0 ? ['note', text, '-e', 'a'] : ['note', text];
      return { text, recorder: startRecorder(repository, args, { ORCH_SESSION: session }) };
    });
    target = await replaceSession(repository, target);
    for (const { text, recorder } of recorders) {
      const { status, stderr } = await recorder.ended;
      expect([0, 1], stderr).toContain(status);
      if (status === 1) {
        expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.code).toBe('SESSION_NOT_FOUND');
        meant.delete(text);
        refused += 1;
      }
    }
  }
  await withOrch(options, async (orch) => {
    await endSession(orch, target, 'pause', null);
    const { events } = await readHistory(orch, epic);
    const found = events.flatMap(({ fact, session }) => (fact.kind === 'note' ? [[fact.text, session]] : []));
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries([...meant].map(([text, session]) => [text, parseSessionId(session)])),
    );
  });
  expect(meant.size + refused).toBe(24);
});
