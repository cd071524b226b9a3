import { hash } from '../digest.ts';
import type { Problem } from './agent-hooks.ts';
import { appendEntry, type JsonStep, removeEntry } from './json-edit.ts';
import { findMember, isRecord, type JsonNode, readJson } from './json-text.ts';
import { type OrchCommand, readOwnWords } from './orch-command.ts';
import { readToml } from './toml-text.ts';

/* How agents get to know orch's tools: the MCP server, the permission to use it, and texts that teach its use. */

const about = 'Records what agents do in git: brief, decisions, failed attempts, checkpoints, budgets';

/** What makes a folder of `.claude/skills` a plugin: Claude Code loads it where the user trusts the repository. */
export function writeClaudePlugin(command: OrchCommand): string {
  const [program = '', ...args] = [...command, 'mcp'];
  const plugin = { name: 'orch', description: about, mcpServers: { orch: { command: program, args } } };
  return `${JSON.stringify(plugin, null, 2)}\n`;
}

export function isOwnPlugin(text: string): boolean {
  const root = readJson(text);
  if ('problem' in root) return false;
  const server = findMember(root, 'mcpServers');
  const { command, args } = record(server && findMember(server, 'orch')?.value);
  return Array.isArray(args) && isServer([command, ...args]);
}

function record(value: unknown): { readonly [name: string]: unknown } {
  return isRecord(value) ? value : {};
}

function isServer(words: readonly unknown[]): boolean {
  const own = readOwnWords(words.map(String));
  return own?.length === 1 && own[0] === 'mcp';
}

/** Is orch's plugin from a marketplace switched on in these settings? It has hooks, tools and skill already. */
export function hasPlugin(claudeSettings: string | null): boolean {
  const root = readJson(claudeSettings ?? '');
  const enabled = 'problem' in root ? {} : record(findMember(root, 'enabledPlugins')?.value);
  return Object.entries(enabled).some(([name, isOn]) => /^orch@(?!skills-dir$)/.test(name) && isOn !== false);
}

/** What Claude Code asks the user for the plugin's server, and where it keeps a yes. */
const answers = [
  { keys: ['permissions', 'allow'], value: 'mcp__plugin_orch_orch' },
  { keys: ['enabledMcpjsonServers'], value: 'plugin:orch:orch' },
] as const;

/** Lets Claude Code start orch's server and use its tools: whoever runs `orch init` says yes to both. */
export function allowTools(text: string): { readonly text: string } | Problem {
  let edited = text;
  for (const { keys, value } of answers) {
    const added = addToList(edited, keys, value);
    if ('problem' in added) return added;
    edited = added.text;
  }
  return { text: edited };
}

/** Takes these answers out again; null where the file held nothing else. */
export function disallowTools(text: string): string | null {
  return answers.reduceRight<string | null>(
    (left, { keys, value }) => (left === null ? null : removeFromList(left, keys, value)),
    text,
  );
}

export function allowsTools(text: string | null): boolean {
  return text !== null && disallowTools(text) !== text;
}

/** Adds a text to a list below these keys, and what is missing on the way to it. */
function addToList(
  text: string,
  keys: readonly string[],
  value: string,
): { readonly text: string } | Problem {
  const root = readJson(text);
  if ('problem' in root) return root;
  let node: JsonNode = root;
  for (const [depth, key] of keys.entries()) {
    if (!isRecord(node.value)) return { problem: `its ${keys.slice(0, depth).join('.')} is no object` };
    const next = findMember(node, key);
    if (!next) {
      const rest = keys.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), [value]);
      return { text: appendEntry(text, node, depth, { key, value: rest }) };
    }
    node = next;
  }
  if (!Array.isArray(node.value)) return { problem: `its ${keys.join('.')} is no list` };
  if (node.value.includes(value)) return { text };
  return { text: appendEntry(text, node, keys.length, { key: null, value }) };
}

/** Takes it out again, with what was made for it. */
function removeFromList(text: string, keys: readonly string[], value: string): string | null {
  const root = readJson(text);
  if ('problem' in root) return text;
  const path: JsonStep[] = [];
  let node: JsonNode = root;
  for (const key of keys) {
    const index = node.children?.findLastIndex((child) => child.key === key) ?? -1;
    const next = node.children?.[index];
    if (!next) return text;
    path.push({ container: node, index });
    node = next.node;
  }
  const index = node.children?.findIndex((child) => child.node.value === value) ?? -1;
  return index < 0 ? text : removeEntry(text, [...path, { container: node, index }]);
}

/** How an agent starts the server. */
export type ServerStart = {
  readonly command: OrchCommand;
  /** The variables it needs: Codex hands on few by itself. */
  readonly variables: readonly string[];
};

function writeTable({ command, variables }: ServerStart): string {
  const [program = '', ...args] = [...command, 'mcp'];
  const list = (words: readonly string[]) => `[${words.map((word) => JSON.stringify(word)).join(', ')}]`;
  return `[mcp_servers.orch]
command = ${JSON.stringify(program)}
args = ${list(args)}
env_vars = ${list(variables)}
`;
}

const ownTable = /(?:^|\n)\[mcp_servers\.orch\]\ncommand = (".*")\nargs = (\[.*\])\nenv_vars = \[.*\]\n/;

/** Adds orch's server to a `config.toml` of Codex, as its last table. */
export function addServer(text: string | null, start: ServerStart): { readonly text: string } | Problem {
  const clean = text === null ? null : removeServer(text);
  const entries = readToml(clean ?? '');
  if ('problem' in entries) return entries;
  const isTaken = /^[ \t]*\[?[ \t]*mcp_servers[ \t]*\.[ \t]*["']?orch\b/m.test(clean ?? '');
  if (isTaken || entries.some(({ key }) => key === 'mcp_servers'))
    return { problem: 'it has MCP servers that orch cannot add itself to' };
  // What stands before it begins on a line of its own again once it is gone.
  return { text: clean === null ? writeTable(start) : `${clean}\n${writeTable(start)}` };
}

/** Takes exactly that table out again; null where the file held nothing else. */
export function removeServer(text: string): string | null {
  const found = ownTable.exec(text);
  if (!found || !isOwnTable(found)) return text;
  const rest = text.slice(0, found.index) + text.slice(found.index + found[0].length);
  return rest === '' && found.index === 0 && !found[0].startsWith('\n') ? null : rest;
}

export function hasServer(text: string | null): boolean {
  return text !== null && removeServer(text) !== text;
}

function isOwnTable([, command = '', args = '']: RegExpExecArray): boolean {
  try {
    return isServer([JSON.parse(command), ...JSON.parse(args)]);
  } catch {
    return false; // written by hand, in TOML that is no JSON
  }
}

const mark = /\n<!-- Written by orch init ([0-9a-f]{16})\. Change it, and orch leaves it alone\. -->\n$/;

/** A text for people and agents to read, with a mark by which it is known again as long as nobody changed it. */
export function markText(text: string): string {
  return `${text}\n<!-- Written by orch init ${digestOf(text)}. Change it, and orch leaves it alone. -->\n`;
}

export function isOwnText(text: string): boolean {
  const found = mark.exec(text);
  return found !== null && found[1] === digestOf(text.slice(0, found.index));
}

function digestOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}
