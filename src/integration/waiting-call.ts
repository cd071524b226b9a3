import { lookUp } from '../keyed.ts';
import type { Json } from '../types.ts';
import type { AgentEvent, WaitingFor } from './agent-event.ts';

type Fields = { readonly [key: string]: Json };
type Waiting = AgentEvent & { readonly kind: 'waiting' };

const isObject = (value: Json | undefined): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: Json | undefined): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null;

const waitingFor = (reason: WaitingFor, detail: string | null, isReminder = false): Waiting => ({
  kind: 'waiting',
  for: reason,
  detail: detail && (detail.split('\n')[0] ?? ''),
  isReminder,
});

/** Reads what an agent wants to be allowed: two of Claude Code's tools are its way to ask something else. */
export function readPermissionRequest({ tool_name, tool_input }: Fields): Waiting {
  const input = isObject(tool_input) ? tool_input : {};
  const tool = textOf(tool_name);
  if (tool === 'ExitPlanMode') return waitingFor('plan', textOf(input.plan));
  if (tool === 'AskUserQuestion') {
    const [first] = Array.isArray(input.questions) ? input.questions : [];
    return waitingFor('question', isObject(first) ? textOf(first.question) : null);
  }
  const about = textOf(input.command) ?? textOf(input.file_path) ?? textOf(input.url);
  return waitingFor('permission', tool && about ? `${tool}: ${about}` : tool);
}

const notifications: { readonly [type: string]: WaitingFor } = {
  permission_prompt: 'permission',
  elicitation_dialog: 'question',
  idle_prompt: 'input',
};

/** Reads what an agent notifies its user of; null where it waits for nothing. */
export function readNotification({ notification_type, message }: Fields): Waiting | null {
  const reason = lookUp(notifications, textOf(notification_type) ?? '');
  if (reason === undefined) return null;
  return waitingFor(reason, reason === 'input' ? null : textOf(message), true);
}
