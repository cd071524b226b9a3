import { isRecord } from '../../checks.ts';
import { quoteForShell } from '../../text.ts';
import { guardForShell, type OrchCommand, readOwnLine } from '../orch-command.ts';
import {
  appendEntry,
  findDuplicate,
  type Json,
  type JsonPath,
  type Problem,
  readJson,
  removeEntry,
  type Settings,
} from './json-text.ts';

/** A hook in the form Claude Code and Codex share. */
type HookHandler = { readonly type: 'command'; readonly command: string; readonly timeout: number };
export type EventHooks = readonly (readonly [event: string, handler: HookHandler])[];

/** In seconds; after that an agent continues without an answer. */
const usualTimeout = 30;

/** Makes the hook that calls orch; `shared` for settings a team shares, which name no path of this machine. */
export function makeHook(
  agent: string,
  { command, shared }: { readonly command: OrchCommand; readonly shared: boolean },
  timeout = usualTimeout,
): HookHandler {
  const args = ['hook', agent];
  const line = shared ? guardForShell(args) : quoteForShell([...command, ...args]);
  return { type: 'command', command: line, timeout };
}

/** Parses settings that hooks can be added to, or returns why they can't. */
export function readHookable(text: string): Json | Problem {
  const json = readJson(text);
  if ('problem' in json) return json;
  const problem =
    findDuplicate(text, json, []) ?? findDuplicate(text, json, ['hooks']) ?? findOddHooks(json.value);
  return problem === null ? json : { problem };
}

function findOddHooks({ hooks = {} }: Settings): string | null {
  if (!isRecord(hooks)) return 'its hooks are not an object';
  const odd = Object.entries(hooks).find(([, groups]) => !Array.isArray(groups));
  return odd ? `its hooks of ${odd[0]} are not a list` : null;
}

/** Are orch's hooks exactly these, each once? */
export function hasHooks(settings: Settings, agent: string, wanted: EventHooks): boolean {
  const found = findOwn(settings, agent).map(({ event, handler }) => JSON.stringify([event, handler]));
  const expected = wanted.map((one) => JSON.stringify(one));
  return found.length === expected.length && expected.every((one) => found.includes(one));
}

/** Counts orch's hooks; zero in broken settings. */
export function countHooks(text: string | null, agent: string): number {
  return listOwn(text, agent).length;
}

/** Lists the command lines that call orch, each once; none in broken settings. */
export function listOwnLines(text: string | null, agent: string): string[] {
  const lines = listOwn(text, agent).flatMap(({ handler }) =>
    isRecord(handler) ? [String(handler.command)] : [],
  );
  return [...new Set(lines)];
}

/** Writes a new file with these hooks. Its first entry is on its own line, which later shows that the file is ours. */
function writeHooks(wanted: EventHooks): string {
  const hooks = Object.fromEntries(wanted.map(([event, handler]) => [event, [{ hooks: [handler] }]]));
  return `${JSON.stringify({ hooks }, null, 2)}\n`;
}

/** Adds hooks after the existing ones, whose positions stay the same; null stands for no file. */
export function addHooks(text: string | null, wanted: EventHooks): string {
  if (text === null) return writeHooks(wanted);
  return wanted.reduce((edited, [event, handler]) => addHook(edited, event, { hooks: [handler] }), text);
}

/** Refuses a text that is too large to be read again with orch's entries in it: they could never be removed. */
export function ifReadable(text: string): { readonly text: string } | Problem {
  const json = readJson(text);
  return 'problem' in json ? json : { text };
}

/** Removes all hooks of orch; null if nothing else is left. */
export function removeHooks(text: string, agent: string): string | null {
  let edited: string | null = text;
  for (let [own] = listOwn(text, agent); own && edited !== null; [own] = listOwn(edited, agent))
    edited = removeEntry(edited, own.path);
  return edited;
}

function addHook(text: string, event: string, group: unknown): string {
  const json = readJson(text);
  if ('problem' in json) return text;
  const { hooks } = json.value;
  if (!isRecord(hooks)) return appendEntry(text, [], 'hooks', { [event]: [group] });
  return Object.hasOwn(hooks, event)
    ? appendEntry(text, ['hooks', event], null, group)
    : appendEntry(text, ['hooks'], event, [group]);
}

type Own = { readonly event: string; readonly handler: unknown; readonly path: JsonPath };

function listOwn(text: string | null, agent: string): Own[] {
  const json = readJson(text ?? '');
  return 'problem' in json ? [] : findOwn(json.value, agent);
}

/** Finds our handlers in all events and groups. */
function findOwn({ hooks }: Settings, agent: string): Own[] {
  return Object.entries(isRecord(hooks) ? hooks : {}).flatMap(([event, groups]) =>
    listOf(groups).flatMap((group, groupAt) => {
      const handlers = listOf(isRecord(group) ? group.hooks : null);
      return handlers.flatMap((handler, handlerAt) => {
        // If it is alone in its group, the whole group is ours, matcher included.
        const inGroup = handlers.length === 1 ? [] : ['hooks', handlerAt];
        return isOwn(handler, agent) ? [{ event, handler, path: ['hooks', event, groupAt, ...inGroup] }] : [];
      });
    }),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isOwn(handler: unknown, agent: string): boolean {
  const [verb, name] = (isRecord(handler) && readOwnLine(handler.command)) || [];
  return verb === 'hook' && name === agent;
}
