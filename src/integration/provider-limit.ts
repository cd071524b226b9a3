import { asFields, asName, type Fields } from '../cost/fields.ts';
import { readFrom, statIfThere } from '../system/files.ts';
import type { Millis } from '../types.ts';

/** An agent could not go on because its provider lets it do no more for now. */
export type ProviderLimit = {
  /** When it may go on, where that was said. */
  readonly resetsAt: Millis | null;
};

/** The last word of a conversation is in these bytes, whatever else is written behind it. */
const tailLength = 512 * 1024;

/** Reads whether an agent's conversation ended at its provider's limit: nothing the model said came after it. */
export function findLimit(path: string): ProviderLimit | null {
  const size = statIfThere(path)?.size ?? 0;
  const tail = readFrom(path, Math.max(0, size - tailLength), tailLength)?.bytes.toString('utf8') ?? '';
  let limit: ProviderLimit | null = null;
  let resetsAt: Millis | null = null;
  for (const text of tail.split('\n')) {
    const line = parse(text);
    if (line === null) continue;
    const payload = asFields(line.payload);
    if (payload?.type === 'token_count') resetsAt = readCodexReset(payload) ?? resetsAt;
    const word = line.type === 'assistant' ? readClaude(line) : readCodex(line, payload, resetsAt);
    if (word !== 'nothing') limit = word;
  }
  return limit;
}

function parse(text: string): Fields | null {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return null; // cut, or another's
  }
}

/** A limit, another word of the agent's (null), or nothing of interest. */
type LastWord = ProviderLimit | null | 'nothing';

function readClaude(line: Fields): LastWord {
  if (line.isApiErrorMessage !== true || line.error !== 'rate_limit') return null;
  const quota = asFields(line.quotaLimits) ?? asFields(asFields(line.apiErrorParams)?.rate_limit_info);
  return { resetsAt: fromSeconds(quota?.resetsAt) };
}

function readCodex(line: Fields, payload: Fields | null, resetsAt: Millis | null): LastWord {
  if (line.type === 'response_item') return payload?.role === 'assistant' ? null : 'nothing';
  if (line.type !== 'event_msg' || payload?.type !== 'task_complete') return 'nothing';
  const error = asFields(payload.error);
  if (error === null) return null;
  const info = error.codex_error_info;
  const isUsage = asName(info) === 'usage_limit_exceeded';
  const statuses = Object.values(asFields(info) ?? {}).map((each) => asFields(each)?.http_status_code);
  return isUsage || statuses.includes(429) ? { resetsAt } : null;
}

/** Of the windows a plan has, those that are used up count; the last of them to begin anew. */
function readCodexReset(payload: Fields): Millis | null {
  const limits = asFields(payload.rate_limits);
  const full = [asFields(limits?.primary), asFields(limits?.secondary)].flatMap((window) =>
    typeof window?.used_percent === 'number' && window.used_percent >= 100
      ? (fromSeconds(window.resets_at) ?? [])
      : [],
  );
  return full.length === 0 ? null : Math.max(...full);
}

function fromSeconds(value: unknown): Millis | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value * 1_000 : null;
}
