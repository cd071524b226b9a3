import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readWaiting } from '../../src/session/agent/agent-waiting.ts';
import type { SessionId } from '../../src/types.ts';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

/** An agent in the middle of a turn, and what it is known to wait for. */
function startAgent() {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
  agent.call('SessionStart', { source: 'startup' });
  agent.call('UserPromptSubmit', { prompt: 'Begin' });
  const { sessions } = orchJson<{ sessions: { id: SessionId }[] }>(repository, ['session', 'list']);
  const waiting = () => {
    const found =
      sessions[0] && readWaiting(join(repository.folder, '.git', 'orchestration'), sessions[0].id);
    return found && [found.for, found.detail];
  };
  return { ...agent, waiting };
}

const asksFor = (tool_name: string, tool_input: object) => ({ tool_name, tool_input });

it.each([
  ['a permission', asksFor('Bash', { command: 'npm test\nrm -r x' }), ['permission', 'Bash: npm test']],
  ['a tool of a server', asksFor('mcp__db__drop', {}), ['permission', 'mcp__db__drop']],
  ['a plan', asksFor('ExitPlanMode', { plan: '# Move the store\n1. …' }), ['plan', '# Move the store']],
  [
    'a question',
    asksFor('AskUserQuestion', { questions: [{ question: 'Which store?' }] }),
    ['question', 'Which store?'],
  ],
] as const)('%s is known until the agent goes on', (_, request, known) => {
  const { call, waiting } = startAgent();
  expect(waiting()).toBeNull();
  call('PreToolUse', { tool_use_id: 'toolu_1' });
  expect(call('PermissionRequest', request)).toBeNull();
  expect(waiting()).toEqual(known);
  // Claude Code reminds its user seconds later, and does not say of what.
  call('Notification', { notification_type: 'permission_prompt', message: 'Claude needs your permission' });
  expect(waiting()).toEqual(known);
  call('PostToolUse', { tool_name: request.tool_name, tool_input: {}, tool_response: {} });
  expect(waiting()).toBeNull();
});

it('an agent whose turn is over waits for the next prompt', () => {
  const { call, waiting } = startAgent();
  call('Stop', { last_assistant_message: 'Done.' });
  expect(waiting()).toEqual(['input', null]);
  call('UserPromptSubmit', { prompt: 'Go on' });
  expect(waiting()).toBeNull();
});

it('what another agent of the session does meanwhile answers no question', () => {
  const { call, waiting } = startAgent();
  call('PermissionRequest', asksFor('Bash', { command: 'make' }));
  const tool = { tool_name: 'Read', tool_input: {}, tool_response: {} };
  call('PostToolUse', { ...tool, agent_id: 'a51' });
  expect(waiting()).toEqual(['permission', 'Bash: make']);
  call('PermissionRequest', { ...asksFor('Bash', { command: 'ls' }), agent_id: 'a51' });
  call('PostToolUse', { ...tool, agent_id: 'a51' });
  expect(waiting()).toBeNull();
});

it('a notification of something else is no question, and a secret in one is not kept', () => {
  const { call, waiting } = startAgent();
  call('Notification', { notification_type: 'auth_success', message: 'Signed in' });
  expect(waiting()).toBeNull();
  const token = ['ghp', 'R4nd0mT0kenF0rTheTest5ofRedact10nAAAA'].join('_');
  call('PermissionRequest', asksFor('Bash', { command: `curl -u ${token}: example.com` }));
  expect(JSON.stringify(waiting())).not.toContain(token);
});
