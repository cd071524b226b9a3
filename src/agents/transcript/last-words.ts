import { isRecord, readChecked } from '../../checks.ts';
import { readFrom, statIfThere } from '../../system/disk.ts';
import { cleanLine } from '../../text.ts';
import type { Millis } from '../../types.ts';

/* What an agent did last, in a few words, from the end of its transcript. */

export type LastWords = {
  readonly text: string;
  readonly at: Millis | null;
};

/** Far more than a message usually has. */
const tail = 64 * 1024;
const longest = 200;

/** Reads the end of a transcript for the last thing its agent said or did; null if nothing is there. */
export function readLastWords(path: string): LastWords | null {
  const size = statIfThere(path)?.size ?? 0;
  const read = readFrom(path, Math.max(0, size - tail), tail);
  const lines = (read?.bytes ?? Buffer.alloc(0)).toString('utf8').split('\n');
  for (const line of lines.reverse()) {
    const entry = line.includes('"') ? readChecked(line, isRecord) : null;
    const text = entry && describe(entry);
    if (!entry || !text) continue;
    const at = Date.parse(String(entry.timestamp));
    return { text: cleanLine(text, longest), at: Number.isNaN(at) ? null : at };
  }
  return null;
}

type Entry = { readonly [key: string]: unknown };

/** Claude Code writes messages, Codex items; both say who speaks and which tool is called. */
function describe(entry: Entry): string | null {
  const item = isRecord(entry.payload) ? entry.payload : entry.message;
  if (!isRecord(item)) return null;
  if (item.type === 'function_call' || item.type === 'local_shell_call')
    return describeTool(String(item.name ?? 'shell'), readArguments(item.arguments ?? item.action));
  if (item.role !== 'assistant' || !Array.isArray(item.content)) return null;
  const parts = (item.content as readonly unknown[]).filter(isRecord);
  const last = parts.findLast(({ type }) => type === 'tool_use' || type === 'text' || type === 'output_text');
  if (last?.type === 'tool_use') return describeTool(String(last.name), last.input);
  return typeof last?.text === 'string' ? (last.text.trim().split('\n')[0] ?? null) : null;
}

export function readArguments(given: unknown): unknown {
  return typeof given === 'string' ? readChecked(given, isRecord) : given;
}

/** `Bash: npm test`, `Edit: src/login.ts`. */
export function describeTool(name: string, input: unknown): string {
  if (!isRecord(input)) return name;
  const { command, file_path, path, pattern, url, description } = input;
  const about = [command, file_path, path, pattern, url, description].find((each) => each !== undefined);
  const words = Array.isArray(about) ? about.join(' ') : about;
  return typeof words === 'string' && words !== '' ? `${name}: ${words.split('\n')[0]}` : name;
}
