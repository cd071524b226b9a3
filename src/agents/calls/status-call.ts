import { isRecord, readChecked } from '../../checks.ts';
import type { ContextReading } from '../../cost/context-window.ts';
import { asCount, asFields, asName, asNanos } from '../../cost/json-fields.ts';
import type { Micros } from '../../types.ts';

/** What Claude Code passes to its status line command. */
export type StatusCall = {
  readonly agentSession: string;
  readonly cwd: string | null;
  /** The folder it started in. */
  readonly project: string | null;
  /** The total cost of the conversation according to Claude Code, if known. */
  readonly cost: Micros | null;
  /** How full the context window is according to Claude Code, from 0 to 100, if known. */
  readonly usedPercent: number | null;
  /** Null before the first answer. */
  readonly context: ContextReading | null;
};

/** Parses what Claude Code writes to a status line's stdin; null if it is something else. */
export function parseStatusCall(text: string): StatusCall | null {
  const call = readChecked(text, isRecord);
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
