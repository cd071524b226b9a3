import { isRecord, readChecked } from '../../checks.ts';
import type { Fields } from '../../cost/json-fields.ts';
import { lookUp } from '../../keyed.ts';
import type { Fact } from '../../state/facts.ts';
import { describeFailure, describeTool, readMark, textOf } from './tool-call.ts';

/** What an agent needs from its user before it continues. */
export type WaitingFor = 'permission' | 'plan' | 'question' | 'input';

/** How an agent starts: `clear` and `compact` continue the same work; the others start it. */
export type StartSource = 'startup' | 'resume' | 'clear' | 'compact';

/** What an agent reports through a hook, the same for every agent. */
export type AgentEvent =
  | { readonly kind: 'start'; readonly source: StartSource; readonly model: string | null }
  | { readonly kind: 'prompt'; readonly text: string }
  /** A tool was used; `mark` identifies the same call in the transcript. */
  | { readonly kind: 'tool'; readonly facts: readonly Fact[]; readonly mark: string | null }
  /** A tool is about to be used; `mark` finds what the model said about it in the transcript. */
  | { readonly kind: 'before_tool'; readonly mark: string | null }
  | { readonly kind: 'before_compact' }
  | { readonly kind: 'after_compact'; readonly summary: string | null }
  /** A turn is over. */
  | { readonly kind: 'stop'; readonly lastMessage: string | null }
  /** A turn failed (a limit, the network); the agent itself did not crash. */
  | { readonly kind: 'failure'; readonly error: string }
  | { readonly kind: 'end'; readonly reason: string | null }
  /** The agent is waiting for its user. A reminder says less than the request before it. */
  | {
      readonly kind: 'waiting';
      readonly for: WaitingFor;
      readonly detail: string | null;
      readonly isReminder: boolean;
    }
  /** A subagent has finished. */
  | { readonly kind: 'helper_stop' }
  /** An event of a newer agent version. */
  | { readonly kind: 'unknown'; readonly name: string };

/** One call of a hook. */
export type HookCall = {
  readonly agent: 'claude' | 'codex';
  /** The agent's own id for its session. */
  readonly agentSession: string;
  /** The file it writes its messages to. */
  readonly transcript: string | null;
  readonly cwd: string | null;
  /** The subagent that made the call, if one did. */
  readonly helper: string | null;
  /** The agent's own id for the turn (Codex only). */
  readonly turn: string | null;
  readonly event: AgentEvent;
};

/** Parses the input of a hook, which Claude Code and Codex write alike; null if it is something else. */
export function parseHookCall(agent: HookCall['agent'], text: string): HookCall | null {
  const input = readChecked(text, isRecord);
  const agentSession = textOf(input?.session_id);
  if (input === null || agentSession === null || !/^[A-Za-z0-9_-]{1,128}$/.test(agentSession)) return null;
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
      const source = sources.find((known) => known === input.source) ?? 'startup'; // a fork starts like any other
      return { kind: 'start', source, model: textOf(input.model) };
    }
    case 'UserPromptSubmit':
      return { kind: 'prompt', text: textOf(input.prompt) ?? '' };
    case 'PreToolUse':
      return { kind: 'before_tool', mark: readMark(input.tool_use_id) };
    case 'PostToolUse':
      return {
        kind: 'tool',
        facts: describeTool(input, { cwd, conversation: textOf(input.session_id) ?? '' }),
        mark: readMark(input.tool_use_id),
      };
    case 'PostToolUseFailure':
      return { kind: 'tool', facts: describeFailure(input.error), mark: readMark(input.tool_use_id) };
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

/** Keeps only the summary: before it, Claude Code's model thinks aloud at length. */
function readSummary(answer: string | null): string | null {
  const [, summary] = /<summary>([\s\S]*?)(?:<\/summary>|$)/.exec(answer ?? '') ?? [];
  return summary?.trim() ?? answer;
}

type Waiting = AgentEvent & { readonly kind: 'waiting' };

const trimmed = (value: unknown): string | null => textOf(value)?.trim() || null;

const waitingFor = (reason: WaitingFor, detail: string | null, isReminder = false): Waiting => ({
  kind: 'waiting',
  for: reason,
  detail: detail && (detail.split('\n')[0] ?? ''),
  isReminder,
});

/** Two of Claude Code's tools ask the user something other than for permission. */
function readPermissionRequest({ tool_name, tool_input }: Fields): Waiting {
  const input = isRecord(tool_input) ? tool_input : {};
  const tool = trimmed(tool_name);
  if (tool === 'ExitPlanMode') return waitingFor('plan', trimmed(input.plan));
  if (tool === 'AskUserQuestion') {
    const [first] = Array.isArray(input.questions) ? input.questions : [];
    return waitingFor('question', isRecord(first) ? trimmed(first.question) : null);
  }
  const about = trimmed(input.command) ?? trimmed(input.file_path) ?? trimmed(input.url);
  return waitingFor('permission', tool && about ? `${tool}: ${about}` : tool);
}

const notifications: { readonly [type: string]: WaitingFor } = {
  permission_prompt: 'permission',
  elicitation_dialog: 'question',
  idle_prompt: 'input',
};

/** Null if the agent is not waiting for anything. */
function readNotification({ notification_type, message }: Fields): Waiting | null {
  const reason = lookUp(notifications, trimmed(notification_type) ?? '');
  if (reason === undefined) return null;
  return waitingFor(reason, reason === 'input' ? null : trimmed(message), true);
}
