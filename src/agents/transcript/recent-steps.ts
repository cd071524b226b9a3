import { isRecord, readChecked } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { readFrom, statIfThere } from '../../system/disk.ts';
import { cleanLine } from '../../text.ts';
import type { Millis } from '../../types.ts';
import { describeTool, readArguments } from './last-words.ts';

/* What an agent did lately, tool call by tool call, from the end of its transcript. */

/** A tool call with its result. */
export type RecentStep = {
  /** Alike for calls that do the same with the same result. */
  readonly key: string;
  /** `Bash: npm test` */
  readonly what: string;
  readonly at: Millis | null;
};

export type RecentSteps = {
  readonly done: readonly RecentStep[];
  /** The call that has no result yet. */
  readonly running: string | null;
};

/** Hundreds of ordinary calls. */
const tail = 256 * 1024;
const longest = 120;

/** Reads the newest tool calls of a transcript. */
export function readRecentSteps(path: string): RecentSteps {
  const size = statIfThere(path)?.size ?? 0;
  const read = readFrom(path, Math.max(0, size - tail), tail);
  return parseSteps((read?.bytes ?? Buffer.alloc(0)).toString('utf8').split('\n'));
}

/** Parses the lines of a transcript of Claude Code or Codex; others are ignored. */
export function parseSteps(lines: readonly string[]): RecentSteps {
  const open = new Map<string, { readonly call: string; readonly what: string }>();
  const done: RecentStep[] = [];
  for (const line of lines) {
    const entry = line.includes('call') || line.includes('tool') ? readChecked(line, isRecord) : null;
    if (entry === null || entry.isSidechain === true) continue;
    const at = Date.parse(String(entry.timestamp));
    for (const part of readParts(entry)) {
      if (part.kind === 'call') {
        open.set(part.id, { call: JSON.stringify([part.name, part.input]), what: nameCall(part) });
        continue;
      }
      const asked = open.get(part.id);
      if (asked === undefined) continue;
      open.delete(part.id);
      const key = hash('sha256', `${asked.call}\0${withoutNumbers(part.text)}`).slice(0, 16);
      done.push({ key, what: asked.what, at: Number.isNaN(at) ? null : at });
    }
  }
  return { done, running: [...open.values()].at(-1)?.what ?? null };
}

/** Durations, dates and process ids differ each time, though the result is the same. */
export function withoutNumbers(text: string): string {
  return text.replace(/\d+(?:\.\d+)?/g, '#');
}

function nameCall({ name, input }: { readonly name: string; readonly input: unknown }): string {
  return cleanLine(describeTool(name, input), longest);
}

type Part =
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

type Entry = { readonly [key: string]: unknown };

function readParts(entry: Entry): Part[] {
  return isRecord(entry.payload) ? readCodex(entry.payload) : readClaude(entry.message);
}

function readClaude(message: unknown): Part[] {
  if (!isRecord(message) || !Array.isArray(message.content)) return [];
  return (message.content as readonly unknown[]).filter(isRecord).flatMap((part): Part[] => {
    if (part.type === 'tool_use')
      return [{ kind: 'call', id: String(part.id), name: String(part.name), input: part.input }];
    if (part.type !== 'tool_result') return [];
    return [{ kind: 'result', id: String(part.tool_use_id), text: textOf(part.content) }];
  });
}

function readCodex(item: Entry): Part[] {
  const id = String(item.call_id);
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call': {
      const input = readArguments(item.arguments ?? item.action) ?? item.input;
      return [{ kind: 'call', id, name: String(item.name ?? 'shell'), input }];
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output':
      return [{ kind: 'result', id, text: textOf(item.output) }];
    default:
      return [];
  }
}

function textOf(content: unknown): string {
  return typeof content === 'string' ? content : (JSON.stringify(content) ?? '');
}
