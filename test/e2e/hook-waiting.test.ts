import { expect, it } from 'vitest';
import { makeAgent, processOfItsOwn } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

type Shown = { id: string; status: string; number: number; agent: string; costUsd: number };
type Status = { epics: { epicId: string; session: Shown | null; budget: { limitUsd: number | null } }[] };

/** An agent that was started, and was not asked anything yet. */
function startAgent() {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x', ...processOfItsOwn() });
  agent.call('SessionStart', { source: 'startup' });
  const statusOf = () => orchJson<Status>(repository, ['status']).epics[0];
  const sessions = () => orchJson<{ sessions: Shown[] }>(repository, ['session', 'list']).sessions;
  return { repository, ...agent, statusOf, sessions };
}

it('an agent that was not asked anything yet is shown as running', () => {
  const { repository, statusOf, sessions } = startAgent();
  const running = { status: 'running', number: 1, agent: 'claude', costUsd: 0 };
  expect(statusOf()).toMatchObject({ epicId: 'x', session: running });
  expect(sessions()).toMatchObject([running]);
  expect(runOrch(repository, ['status']).stdout).toMatch(/^x +● claude s1 /m);
  expect(runOrch(repository, ['log', 'x']).stdout).toMatch(/s1 +claude +● running/);
  expect(orchJson(repository, ['session', 'status', '-e', 'x'])).toMatchObject({ session: running });
});

it('its budget can be set, raised and lifted, and counts from the first prompt on', () => {
  const { repository, call, spend, statusOf, sessions } = startAgent();
  for (const [amount, limitUsd] of [
    ['5', 5],
    ['20', 20],
    ['none', null],
    ['1', 1],
  ] as const) {
    expect(runOrch(repository, ['cost', 'budget', amount, '-e', 'x'])).toMatchObject({ status: 0 });
    expect(statusOf()?.budget.limitUsd).toBe(limitUsd);
  }
  expect(sessions()).toHaveLength(1);
  spend(100_000);
  expect(call('UserPromptSubmit', { prompt: 'Begin' })).toMatchObject({ decision: 'block' });
  expect(sessions()).toMatchObject([{ number: 1, status: 'budget_exceeded', costUsd: 1.5 }]);
});

it('what is recorded belongs to its session, and so does the conversation', () => {
  const { repository, call, sessions } = startAgent();
  const { event } = orchJson<{ event: object }>(repository, ['record', 'note', 'Careful', '-e', 'x']);
  expect(event).toMatchObject({ kind: 'note' });
  const [before] = sessions();
  call('UserPromptSubmit', { prompt: 'Begin' });
  expect(sessions()).toMatchObject([{ id: before?.id, number: 1, status: 'running' }]);
  const { document } = orchJson<{ document: { state: { current: { agent: { value: object } } } } }>(
    repository,
    ['checkpoint', 'show', 'latest', '-e', 'x'],
  );
  expect(document.state.current.agent.value).toMatchObject({ name: 'claude', session: 'agent-1' });
});

it.each([
  ['pause', 'paused'],
  ['complete', 'completed'],
])('%s ends its session, and the next prompt begins another', (want, status) => {
  const { repository, call, sessions } = startAgent();
  expect(runOrch(repository, ['session', want, '-e', 'x'])).toMatchObject({ status: 0 });
  expect(sessions()).toMatchObject([{ number: 1, status }]);
  call('UserPromptSubmit', { prompt: 'Begin' });
  expect(sessions()).toMatchObject([
    { number: 2, status: 'running' },
    { number: 1, status },
  ]);
});
