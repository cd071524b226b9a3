import { isRecord, readChecked } from '../checks.ts';
import { asFields, asName, type Fields } from '../cost/json-fields.ts';
import { readFrom, statIfThere } from '../system/disk.ts';
import type { Millis } from '../types.ts';

/** An agent stopped because it reached its provider's usage limit. */
export type ProviderLimit = {
  /** When the limit resets, if known. */
  readonly resetsAt: Millis | null;
};

/** Long enough to contain the last message, whatever is written after it. */
const tailLength = 512 * 1024;

/** A provider's error that ended a conversation. */
export type ProviderFailure = {
  /** As the agent worded it. */
  readonly text: string;
  /** Set if the error is a usage limit. */
  readonly limit: ProviderLimit | null;
};

/** Finds the usage limit a conversation ended at, if the model said nothing after it. */
export function findLimit(path: string): ProviderLimit | null {
  return findFailure(path)?.limit ?? null;
}

/** Finds the provider error a conversation ended with, if any. */
export function findFailure(path: string): ProviderFailure | null {
  const size = statIfThere(path)?.size ?? 0;
  const tail = readFrom(path, Math.max(0, size - tailLength), tailLength)?.bytes.toString('utf8') ?? '';
  let failure: ProviderFailure | null = null;
  let resetsAt: Millis | null = null;
  for (const text of tail.split('\n')) {
    const line = readChecked(text, isRecord);
    if (line === null) continue;
    const payload = asFields(line.payload);
    if (payload?.type === 'token_count') resetsAt = readCodexReset(payload) ?? resetsAt;
    const result = line.type === 'assistant' ? readClaude(line) : readCodex(line, payload, resetsAt);
    if (result !== 'irrelevant') failure = result;
  }
  return failure;
}

/** An error, a message of the agent (null), or a line of no interest. */
type LineResult = ProviderFailure | null | 'irrelevant';

function readClaude(line: Fields): LineResult {
  if (line.isApiErrorMessage !== true) return null;
  const content = asFields(line.message)?.content;
  const parts = Array.isArray(content) ? content.map((block) => asFields(block)?.text) : [content];
  const text = parts.filter((part) => typeof part === 'string').join(' ');
  const quota = asFields(line.quotaLimits) ?? asFields(asFields(line.apiErrorParams)?.rate_limit_info);
  const limit = line.error === 'rate_limit' ? { resetsAt: fromSeconds(quota?.resetsAt) } : null;
  return { text: text || (asName(line.error) ?? 'the provider returned an error'), limit };
}

function readCodex(line: Fields, payload: Fields | null, resetsAt: Millis | null): LineResult {
  if (line.type === 'response_item') return payload?.role === 'assistant' ? null : 'irrelevant';
  if (line.type !== 'event_msg' || payload?.type !== 'task_complete') return 'irrelevant';
  const error = asFields(payload.error);
  if (error === null) return null;
  const info = error.codex_error_info;
  const isUsage = asName(info) === 'usage_limit_exceeded';
  const statuses = Object.values(asFields(info) ?? {}).map((each) => asFields(each)?.http_status_code);
  const limit = isUsage || statuses.includes(429) ? { resetsAt } : null;
  return { text: asName(error.message) ?? asName(info) ?? 'the provider returned an error', limit };
}

/** When the last of the exhausted windows resets. */
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
