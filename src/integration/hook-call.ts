import type { Json } from '../types.ts';
import type { AgentEvent, HookCall } from './agent-event.ts';
import { describeFailure, describeTool, type Fields, isObject } from './tool-call.ts';
import { readNotification, readPermissionRequest } from './waiting-call.ts';

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);

/** Reads what an agent hands to a hook (Claude Code and Codex use the same words); null where it is not that. */
export function parseHookCall(agent: HookCall['agent'], text: string): HookCall | null {
  let input: Json;
  try {
    input = JSON.parse(text);
  } catch {
    return null; // empty or broken: nothing of it can be used
  }
  if (!isObject(input)) return null;
  const agentSession = textOf(input.session_id);
  if (agentSession === null || !/^[A-Za-z0-9_-]{1,128}$/.test(agentSession)) return null;
  const cwd = textOf(input.cwd);
  return {
    agent,
    agentSession,
    transcript: textOf(input.transcript_path),
    cwd,
    helper: textOf(input.agent_id),
    turn: textOf(input.turn_id),
    event: readEvent(input, cwd),
  };
}

const sources = ['startup', 'resume', 'clear', 'compact'] as const;

function readEvent(input: Fields, cwd: string | null): AgentEvent {
  const name = textOf(input.hook_event_name) ?? '';
  switch (name) {
    case 'SessionStart': {
      const source = sources.find((known) => known === input.source) ?? 'startup'; // a fork begins like any other
      return { kind: 'start', source, model: textOf(input.model) };
    }
    case 'UserPromptSubmit':
      return { kind: 'prompt', text: textOf(input.prompt) ?? '' };
    case 'PreToolUse':
      return { kind: 'before_tool', mark: textOf(input.tool_use_id) };
    case 'PostToolUse':
      return {
        kind: 'tool',
        facts: describeTool(input, { cwd, conversation: textOf(input.session_id) ?? '' }),
        mark: textOf(input.tool_use_id),
      };
    case 'PostToolUseFailure':
      return { kind: 'tool', facts: describeFailure(input.error), mark: textOf(input.tool_use_id) };
    case 'PreCompact':
      return { kind: 'before_compact' };
    case 'PostCompact':
      return { kind: 'after_compact', summary: readSummary(textOf(input.compact_summary)) };
    case 'Stop':
      return { kind: 'stop', lastMessage: textOf(input.last_assistant_message) };
    case 'StopFailure':
      return { kind: 'failure', error: textOf(input.error) ?? 'unknown' };
    case 'SessionEnd':
      return { kind: 'end', reason: textOf(input.reason) };
    case 'PermissionRequest':
      return readPermissionRequest(input);
    case 'Notification':
      return readNotification(input) ?? { kind: 'unknown', name };
    case 'SubagentStop':
      return { kind: 'helper_stop' };
    default:
      return { kind: 'unknown', name };
  }
}

/** Of what Claude Code's model answers, only the summary is to be kept: before it, it thinks aloud at length. */
function readSummary(answer: string | null): string | null {
  const [, summary] = /<summary>([\s\S]*?)(?:<\/summary>|$)/.exec(answer ?? '') ?? [];
  return summary?.trim() ?? answer;
}
