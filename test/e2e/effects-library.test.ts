import { expect, it } from 'vitest';
import { OrchError, type ProgramEffect, runEffects } from '../../src/index.ts';
import type { Json } from '../../src/types.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

/** Effects that note what was done under which key; those that fail say why. */
function makeEffects(ids: readonly string[], failing: { [id: string]: Error } = {}) {
  const done: string[] = [];
  const keys: { [id: string]: string[] } = {};
  const effects = ids.map(
    (id): ProgramEffect => ({
      id,
      content: { id },
      perform: async (key) => {
        keys[id] = [...(keys[id] ?? []), key];
        const error = failing[id];
        if (error) throw error;
        done.push(id);
      },
    }),
  );
  return { effects, done, keys, failing };
}

const options = { epicId: 'crm', attempts: 2, backoff: 1 };

it('a program’s effects are done once, in order, however often it is started', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const { effects, done, keys, failing } = makeEffects(['contact', 'task', 'note'], {
    task: new OrchError('RESUME_NEEDED', 'the desk is closed'),
  });
  const first = await runEffects('write back', effects, options, { cwd });
  expect(first.status).toBe('resume_needed');
  expect(first.effects.map(({ id, status }) => `${id} ${status}`)).toEqual([
    'contact acknowledged',
    'task planned',
    'note planned',
  ]);

  failing.task = new Error('no such task');
  expect((await runEffects('write back', effects, options, { cwd })).status).toBe('blocked');

  delete failing.task;
  const last = await runEffects('write back', effects, options, { cwd });
  expect(last).toMatchObject({ id: first.id, status: 'succeeded' });
  expect(done).toEqual(['contact', 'task', 'note']);
  expect(new Set(keys.task).size).toBe(1);
  expect(keys.task).toHaveLength(4);

  expect(await runEffects('write back', effects, options, { cwd })).toMatchObject({ status: 'succeeded' });
  expect(done).toHaveLength(3);
});

it('what is done under a name is not taken for something else', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const { effects, done, keys } = makeEffects(['contact']);
  await runEffects('write back', effects, options, { cwd });
  const other = effects.map((effect) => ({ ...effect, content: 'another' }));
  await expect(runEffects('write back', other, options, { cwd })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'write back was done with other content for effect contact',
  });
  const more = [...effects, { ...makeEffects(['call']).effects[0], id: 'call', perform: async () => {} }];
  await expect(runEffects('write back', more, options, { cwd })).rejects.toMatchObject({
    message: 'write back was done without effect call',
  });
  expect(done).toEqual(['contact']);
  await runEffects('write back', effects, { ...options, fresh: true }, { cwd });
  expect(done).toEqual(['contact', 'contact']);
  expect(new Set(keys.contact).size).toBe(2);
});

it('asks whether it was done before it repeats it', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const asked: string[] = [];
  let times = 0;
  const effect: ProgramEffect = {
    id: 'send',
    perform: async () => {
      times += 1;
      throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
    },
    isDone: async (key) => {
      asked.push(key);
      return asked.length > 1;
    },
  };
  const run = await runEffects('send', [effect], options, { cwd });
  expect(run.status).toBe('succeeded');
  expect(times).toBe(2);
  expect(asked).toEqual(Array(2).fill(run.effects[0]?.key));
});

it('what was planned is kept and replayed; other content waits for a choice', async () => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const sent: [string, Json][] = [];
  let isClosed = true;
  const make = (content?: Json): ProgramEffect[] => [
    {
      id: 'send',
      ...(content !== undefined && { content }),
      perform: async (key, planned) => {
        if (isClosed) throw new OrchError('RESUME_NEEDED', 'closed');
        sent.push([key, planned]);
      },
    },
  ];
  const run = (effects: ProgramEffect[], more = {}) =>
    runEffects('write back', effects, { ...options, ...more }, { cwd });
  const first = await run(make({ at: 1 }));
  expect(first.status).toBe('resume_needed');
  isClosed = false;
  const changed = await run(make({ at: 2 }));
  expect(changed).toMatchObject({ id: first.id, status: 'blocked' });
  expect(sent).toEqual([]);
  // Called without content, it means what was planned; so it does where that is said.
  expect((await run(make())).status).toBe('succeeded');
  expect(sent).toEqual([[first.effects[0]?.key, { at: 1 }]]);
  isClosed = true;
  const second = await run(make({ at: 3 }), { fresh: true });
  isClosed = false;
  expect((await run(make({ at: 4 }), { asPlanned: ['send'] })).status).toBe('succeeded');
  expect(sent[1]).toEqual([second.effects[0]?.key, { at: 3 }]);
  isClosed = true;
  const third = await run(make({ at: 5 }), { fresh: true });
  isClosed = false;
  expect((await run(make({ at: 6 }), { replan: ['send'] })).status).toBe('succeeded');
  expect(sent[2]?.[0]).not.toBe(third.effects[0]?.key);
  expect(sent[2]?.[1]).toEqual({ at: 6 });
});

it.each(['', 'two\nlines', 'x'.repeat(65)])('refuses %j as a name', async (name) => {
  const { folder: cwd } = makeRepositoryWithCommit();
  const run = async () => runEffects(name, [], options, { cwd });
  await expect(run()).rejects.toMatchObject({ code: 'USAGE' });
});
