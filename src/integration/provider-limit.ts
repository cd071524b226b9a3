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

/** What a provider answered instead of the model, as the last word of a conversation. */
export type ProviderFailure = {
  /** In the agent's words. */
  readonly text: string;
  /** Where it lets the agent do no more for now. */
  readonly limit: ProviderLimit | null;
};

/** Reads whether an agent's conversation ended at its provider's limit: nothing the model said came after it. */
export function findLimit(path: string): ProviderLimit | null {
  return findFailure(path)?.limit ?? null;
}

/** Reads whether an agent's conversation ended with a failure of its provider's, and which. */
export function findFailure(path: string): ProviderFailure | null {
  const size = statIfThere(path)?.size ?? 0;
  const tail = readFrom(path, Math.max(0, size - tailLength), tailLength)?.bytes.toString('utf8') ?? '';
  let failure: ProviderFailure | null = null;
  let resetsAt: Millis | null = null;
  for (const text of tail.split('\n')) {
    const line = parse(text);
    if (line === null) continue;
    const payload = asFields(line.payload);
    if (payload?.type === 'token_count') resetsAt = readCodexReset(payload) ?? resetsAt;
    const word = line.type === 'assistant' ? readClaude(line) : readCodex(line, payload, resetsAt);
    if (word !== 'nothing') failure = word;
  }
  return failure;
}

function parse(text: string): Fields | null {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return null; // cut, or another's
  }
}

/** A failure, another word of the agent's (null), or nothing of interest. */
type LastWord = ProviderFailure | null | 'nothing';

function readClaude(line: Fields): LastWord {
  if (line.isApiErrorMessage !== true) return null;
  const content = asFields(line.message)?.content;
  const said = Array.isArray(content) ? content.map((block) => asFields(block)?.text) : [content];
  const text = said.filter((part) => typeof part === 'string').join(' ');
  const quota = asFields(line.quotaLimits) ?? asFields(asFields(line.apiErrorParams)?.rate_limit_info);
  const limit = line.error === 'rate_limit' ? { resetsAt: fromSeconds(quota?.resetsAt) } : null;
  return { text: text || (asName(line.error) ?? 'its provider refused'), limit };
}

function readCodex(line: Fields, payload: Fields | null, resetsAt: Millis | null): LastWord {
  if (line.type === 'response_item') return payload?.role === 'assistant' ? null : 'nothing';
  if (line.type !== 'event_msg' || payload?.type !== 'task_complete') return 'nothing';
  const error = asFields(payload.error);
  if (error === null) return null;
  const info = error.codex_error_info;
  const isUsage = asName(info) === 'usage_limit_exceeded';
  const statuses = Object.values(asFields(info) ?? {}).map((each) => asFields(each)?.http_status_code);
  const limit = isUsage || statuses.includes(429) ? { resetsAt } : null;
  return { text: asName(error.message) ?? asName(info) ?? 'its provider refused', limit };
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
