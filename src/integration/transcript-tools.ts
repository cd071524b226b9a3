import { type Keyed, lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import { readFrom } from '../system/files.ts';
import type { Json, Millis } from '../types.ts';
import { describeFailure, describeTool, type Fields, isObject } from './tool-call.ts';
import { type FileMark, readNewLines } from './transcript-files.ts';

/* What Claude Code's tools did, as its transcript tells it: hooks need not look at every call. */

/** How far the tools of a transcript were read. */
export type ToolMark = FileMark & {
  /** The calls whose results are not there yet, by their marks: where in the file each stands. */
  readonly open: Keyed<readonly [offset: number, length: number]>;
};

/** What a tool did, by the mark of its call. */
export type ToldTool = {
  readonly mark: string;
  /** The folder from which it names files. */
  readonly cwd: string | null;
  readonly facts: readonly Fact[];
};

/** A call that was given up has no result; so many are waited for. */
const mostOpen = 200;

/**
 * Reads what the tools did since the transcripts were last read. `files` says for each from when on it counts: a fork
 * and a resumed conversation begin with what another session did.
 */
export function readTools(
  marks: Keyed<ToolMark>,
  files: Keyed<Millis>,
): { readonly told: readonly ToldTool[]; readonly marks: Keyed<ToolMark> } {
  const told: ToldTool[] = [];
  const next: { [path: string]: ToolMark } = {};
  for (const [path, since] of Object.entries(files)) {
    const before = lookUp(marks, path) ?? null;
    let open = new Map(Object.entries(before?.open ?? {}));
    const restart = () => {
      open = new Map();
    };
    const { mark } = readNewLines(path, before, restart, (bytes, offset) => {
      for (const part of readParts(bytes, since)) {
        if (part.kind === 'call') open.set(part.mark, [offset, bytes.length]);
        const place = part.kind === 'result' ? open.get(part.mark) : undefined;
        if (part.kind !== 'result' || place === undefined) continue;
        open.delete(part.mark);
        const call = findCall(path, place, part.mark);
        if (call) told.push({ mark: part.mark, cwd: part.cwd, facts: describe(call, part) });
      }
    });
    if (mark !== null) next[path] = { ...mark, open: Object.fromEntries([...open].slice(-mostOpen)) };
  }
  return { told, marks: next };
}

type Call = { readonly kind: 'call'; readonly mark: string; readonly name: Json; readonly input: Json };
type Result = {
  readonly kind: 'result';
  readonly mark: string;
  readonly cwd: string | null;
  readonly conversation: string;
  readonly isError: boolean;
  /** What the model was told. */
  readonly text: string;
  /** What the tool gave; the transcripts of subagents leave it out. */
  readonly response: Json | undefined;
};

function* readParts(bytes: Buffer, since: Millis): Generator<Call | Result> {
  if (!bytes.includes('"tool_use') && !bytes.includes('"tool_result"')) return;
  const line = parseLine(bytes);
  const message = line?.message;
  if (!line || !isObject(message) || !Array.isArray(message.content)) return;
  if (!(Date.parse(String(line.timestamp)) >= since)) return;
  for (const part of message.content) {
    if (!isObject(part)) continue;
    if (part.type === 'tool_use' && typeof part.id === 'string')
      yield { kind: 'call', mark: part.id, name: part.name ?? null, input: part.input ?? null };
    if (part.type === 'tool_result' && typeof part.tool_use_id === 'string')
      yield {
        kind: 'result',
        mark: part.tool_use_id,
        cwd: typeof line.cwd === 'string' ? line.cwd : null,
        conversation: typeof line.sessionId === 'string' ? line.sessionId : '',
        isError: part.is_error === true,
        text: readText(part.content),
        response: line.toolUseResult,
      };
  }
}

function parseLine(bytes: Buffer): Fields | null {
  try {
    const line: Json = JSON.parse(bytes.toString('utf8'));
    return isObject(line) ? line : null;
  } catch {
    return null; // still being written, or not ours to understand
  }
}

function readText(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.filter(isObject) : [];
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
}

/** It may have been read long before its result, and is not kept: it holds whole files. */
function findCall(path: string, [offset, length]: readonly [number, number], mark: string): Call | null {
  const bytes = readFrom(path, offset, length)?.bytes;
  const parts = bytes ? [...readParts(bytes, 0)] : [];
  return parts.find((part): part is Call => part.kind === 'call' && part.mark === mark) ?? null;
}

function describe({ name, input }: Call, { isError, text, response, cwd, conversation }: Result): Fact[] {
  if (isError) return describeFailure(text);
  const tool_response = response ?? guessResponse(text);
  return describeTool({ tool_name: name, tool_input: input, tool_response }, { cwd, conversation });
}

/** What a tool gave, by what the model was told of it. */
function guessResponse(text: string): Json {
  const [, task] = /^Task #(\d+) created/.exec(text) ?? [];
  if (task !== undefined) return { task: { id: task } };
  return text.startsWith('File created') ? { type: 'create' } : text;
}
