import { expect, it } from 'vitest';
import { makeAgent } from '../support/hooked-agent.ts';
import { orchJson, runOrch } from '../support/orch.ts';
import { makeRepositoryWithCommit } from '../support/repository.ts';

/** An agent that is at work, and past its budget. */
function startSpentAgent() {
  const repository = makeRepositoryWithCommit();
  const agent = makeAgent(repository, 'agent-1', { ORCH_EPIC: 'x' });
  agent.call('UserPromptSubmit', { prompt: 'Begin' });
  runOrch(repository, ['cost', 'budget', '0.01', '-e', 'x']);
  agent.spend(10_000);
  return { repository, ...agent };
}

it('nothing is printed around a compaction: Claude Code would take it as an instruction for it', () => {
  const { call } = startSpentAgent();
  expect(call('PreCompact', { trigger: 'auto' })).toBeNull();
  expect(call('PostCompact', { trigger: 'auto', compact_summary: 'All of it.' })).toBeNull();
  expect(call('PreToolUse', { tool_use_id: 'toolu_1' })).toMatchObject({ continue: false });
});

it('events that orch does not know, or not in this form, disturb nothing', () => {
  const { repository, call } = startSpentAgent();
  const unused =
    'UserPromptExpansion SubagentStart PostToolBatch PreModelSwitch PostModelSwitch PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay OfALaterVersion';
  for (const event of unused.split(' ')) expect(call(event, { name: 'x' }), event).toBeNull();
  for (const fields of [{}, { tool_name: 7, tool_input: 'x' }, { tool_name: 'AskUserQuestion' }])
    expect(call('PermissionRequest', fields)).toBeNull();
  for (const fields of [{}, { notification_type: 7 }, { notification_type: '__proto__' }])
    expect(call('Notification', fields)).toBeNull();
  expect(call('SubagentStop', { agent_id: 'a51' })).toBeNull();
  expect(orchJson(repository, ['status']).faults).toEqual([]);
});
