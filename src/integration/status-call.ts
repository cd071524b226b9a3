import type { ContextReading } from '../cost/context.ts';
import { asCount, asFields, asName, asNanos } from '../cost/fields.ts';
import type { Micros } from '../types.ts';

/** What Claude Code tells whoever makes its status line. */
export type StatusCall = {
  readonly agentSession: string;
  readonly cwd: string | null;
  /** The folder it began in. */
  readonly project: string | null;
  /** What the conversation has cost in all, by its own account; null where it does not tell. */
  readonly cost: Micros | null;
  /** How full its window is by its own account, 0 to 100; null where it does not tell. */
  readonly usedPercent: number | null;
  /** Null before its first answer. */
  readonly context: ContextReading | null;
};

/** Reads what Claude Code gives a status line on stdin; null where it is something else. */
export function parseStatusCall(text: string): StatusCall | null {
  const call = asFields(parse(text));
  const agentSession = asName(call?.session_id);
  if (call === null || agentSession === null) return null;
  const window = asFields(call.context_window);
  const usage = asFields(window?.current_usage);
  const tokens =
    asCount(usage?.input_tokens) +
    asCount(usage?.cache_read_input_tokens) +
    asCount(usage?.cache_creation_input_tokens);
  const model = asName(asFields(call.model)?.id);
  const size = asCount(window?.context_window_size) || null;
  const nanos = asNanos(asFields(call.cost)?.total_cost_usd);
  const workspace = asFields(call.workspace);
  return {
    agentSession,
    cwd: asName(workspace?.current_dir) ?? asName(call.cwd),
    project: asName(workspace?.project_dir),
    cost: nanos === null ? null : Math.round(nanos / 1_000),
    usedPercent: readPercent(window?.used_percentage),
    context: tokens === 0 ? null : { tokens, model, window: size },
  };
}

function readPercent(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 1_000 ? value : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // cut, or nothing at all
  }
}
