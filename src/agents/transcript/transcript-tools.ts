import { isRecord, readChecked } from '../../checks.ts';
import { type Keyed, lookUp } from '../../keyed.ts';
import type { Fact } from '../../state/facts.ts';
import { readFrom } from '../../system/disk.ts';
import type { Millis } from '../../types.ts';
import { describeFailure, describeTool, readMark } from '../calls/tool-call.ts';
import { type FileMark, readNewLines } from './transcript-files.ts';

/* Reads from Claude Code's transcript what its tools did, so that hooks need not look at every call. */

/** How far the tool calls in a transcript have been read. */
export type ToolMark = FileMark & {
  /** Where the calls without a result yet are in the file, by mark. */
  readonly open: Keyed<readonly [offset: number, length: number]>;
};

/** What a tool call did. */
export type ToolUse = {
  readonly mark: string;
  /** The folder its paths are relative to. */
  readonly cwd: string | null;
  readonly facts: readonly Fact[];
};

/** An abandoned call never gets a result, so only this many wait for one. */
const mostOpen = 200;

/**
 * Reads what the tools did since the transcripts were last read. `files` gives the time from which each counts: a fork
 * or a resumed conversation starts with what another session did.
 */
export function readTools(
  marks: Keyed<ToolMark>,
  files: Keyed<Millis>,
): { readonly uses: readonly ToolUse[]; readonly marks: Keyed<ToolMark> } {
  const uses: ToolUse[] = [];
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
        if (call) uses.push({ mark: part.mark, cwd: part.cwd, facts: describe(call, part) });
      }
    });
    if (mark !== null) next[path] = { ...mark, open: Object.fromEntries([...open].slice(-mostOpen)) };
  }
  return { uses, marks: next };
}

type Call = { readonly kind: 'call'; readonly mark: string; readonly name: unknown; readonly input: unknown };
type Result = {
  readonly kind: 'result';
  readonly mark: string;
  readonly cwd: string | null;
  readonly conversation: string;
  readonly isError: boolean;
  /** The result as the model saw it. */
  readonly text: string;
  /** The structured result, which subagents' transcripts leave out. */
  readonly response: unknown;
};

function* readParts(bytes: Buffer, since: Millis): Generator<Call | Result> {
  if (!bytes.includes('"tool_use') && !bytes.includes('"tool_result"')) return;
  const line = readChecked(bytes.toString('utf8'), isRecord);
  const message = line?.message;
  if (!line || !isRecord(message) || !Array.isArray(message.content)) return;
  if (!(Date.parse(String(line.timestamp)) >= since)) return;
  for (const part of message.content as readonly unknown[]) {
    if (!isRecord(part)) continue;
    const [asked, answered] = [readMark(part.id), readMark(part.tool_use_id)];
    if (part.type === 'tool_use' && asked !== null)
      yield { kind: 'call', mark: asked, name: part.name, input: part.input };
    if (part.type === 'tool_result' && answered !== null)
      yield {
        kind: 'result',
        mark: answered,
        cwd: typeof line.cwd === 'string' ? line.cwd : null,
        conversation: typeof line.sessionId === 'string' ? line.sessionId : '',
        isError: part.is_error === true,
        text: readText(part.content),
        response: line.toolUseResult,
      };
  }
}

function readText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.filter(isRecord) : [];
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
}

/** A call is read again from the file, because keeping it until its result arrives could mean keeping whole files. */
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

/** Reconstructs the structured result from the text the model saw. */
function guessResponse(text: string): unknown {
  const [, task] = /^Task #(\d+) created/.exec(text) ?? [];
  if (task !== undefined) return { task: { id: task } };
  return text.startsWith('File created') ? { type: 'create' } : text;
}
