import { appendEntry, type JsonStep, removeEntry } from './json-edit.ts';
import { findDuplicate, findMember, isRecord, type JsonNode, readJson } from './json-text.ts';
import { readOwnLine } from './orch-command.ts';

/** A hook as Claude Code and Codex both write it down. */
export type HookHandler = { readonly type: 'command'; readonly command: string; readonly timeout: number };
export type EventHooks = readonly (readonly [event: string, handler: HookHandler])[];

export type Problem = { readonly problem: string };

/** Finds out why hooks cannot be added to these settings; null where they can. */
export function findProblem(root: JsonNode): string | null {
  const hooks = findMember(root, 'hooks');
  const twice = findDuplicate(root) ?? (hooks ? findDuplicate(hooks) : null);
  if (twice !== null) return `the key ${twice} is there twice`;
  if (hooks === null) return null;
  if (!isRecord(hooks.value)) return 'its hooks are no object';
  const odd = hooks.children?.find(({ node }) => !Array.isArray(node.value));
  return odd ? `its hooks of ${odd.key} are no list` : null;
}

/** Are exactly these hooks of orch there, each once? */
export function hasHooks(root: JsonNode, agent: string, wanted: EventHooks): boolean {
  const found = findOwn(root, agent).map(({ event, handler }) => JSON.stringify([event, handler]));
  const expected = wanted.map((one) => JSON.stringify(one));
  return found.length === expected.length && expected.every((one) => found.includes(one));
}

/** How many hooks of orch are there? */
export function countHooks(root: JsonNode, agent: string): number {
  return findOwn(root, agent).length;
}

/** The command lines by which these settings call orch, each once; of broken settings, none. */
export function listOwnLines(text: string | null, agent: string): string[] {
  const root = readJson(text ?? '');
  const own = 'problem' in root ? [] : findOwn(root, agent);
  const lines = own.flatMap(({ handler }) => (isRecord(handler) ? [String(handler.command)] : []));
  return [...new Set(lines)];
}

/** A new file with these hooks; that its first entry is on a line of its own says later that it was ours. */
export function writeHooks(wanted: EventHooks): string {
  const hooks = Object.fromEntries(wanted.map(([event, handler]) => [event, [{ hooks: [handler] }]]));
  return `${JSON.stringify({ hooks }, null, 2)}\n`;
}

/** Adds hooks behind those that are there, where they change no other's place. */
export function addHooks(text: string, wanted: EventHooks): string {
  let edited = text;
  for (const [event, handler] of wanted) edited = addHook(edited, event, { hooks: [handler] });
  return edited;
}

/** What was put in must be found again to be taken out: settings that are nearly too large may be so with orch in them. */
export function ifReadable(text: string): { readonly text: string } | Problem {
  const root = readJson(text);
  return 'problem' in root ? root : { text };
}

/** Takes all hooks of orch out; null where nothing of anybody else is left. */
export function removeHooks(text: string, agent: string): string | null {
  let edited = text;
  for (;;) {
    const root = readJson(edited);
    const own = 'problem' in root ? undefined : findOwn(root, agent)[0];
    if (!own) return edited;
    const removed = removeEntry(edited, own.path);
    if (removed === null) return null;
    edited = removed;
  }
}

function addHook(text: string, event: string, group: unknown): string {
  const root = readJson(text);
  if ('problem' in root) return text;
  const hooks = findMember(root, 'hooks');
  if (!hooks) return appendEntry(text, root, 0, { key: 'hooks', value: { [event]: [group] } });
  const groups = findMember(hooks, event);
  if (!groups) return appendEntry(text, hooks, 1, { key: event, value: [group] });
  return appendEntry(text, groups, 2, { key: null, value: group });
}

type Own = { readonly event: string; readonly handler: unknown; readonly path: readonly JsonStep[] };

/** Goes down through events, groups and handlers, to those that are ours. */
function findOwn(root: JsonNode, agent: string): Own[] {
  const hooksAt = root.children?.findLastIndex(({ key }) => key === 'hooks') ?? -1;
  const hooks = root.children?.[hooksAt]?.node;
  const top = { container: root, index: hooksAt };
  return (hooks?.children ?? []).flatMap(({ key: event, node: groups }, eventAt) =>
    (groups.children ?? []).flatMap(({ node: group }, groupAt) => {
      const fieldAt = group.children?.findLastIndex(({ key }) => key === 'hooks') ?? -1;
      const handlers = group.children?.[fieldAt]?.node;
      if (!hooks || !handlers || event === null) return [];
      return (handlers.children ?? []).flatMap(({ node: handler }, handlerAt) => {
        if (!isOwn(handler.value, agent)) return [];
        const inGroup = { container: handlers, index: handlerAt };
        const ofGroup = { container: groups, index: groupAt };
        const path = [top, { container: hooks, index: eventAt }, ofGroup];
        // Alone in its group, the whole group is ours, with its matcher.
        const isAlone = handlers.children?.length === 1;
        return [{ event, handler: handler.value, path: isAlone ? path : [...path, inGroup] }];
      });
    }),
  );
}

function isOwn(handler: unknown, agent: string): boolean {
  const [verb, name] = (isRecord(handler) && readOwnLine(handler.command)) || [];
  return verb === 'hook' && name === agent;
}
