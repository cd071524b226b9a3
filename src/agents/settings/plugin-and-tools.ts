import { parse as parseToml, TomlError } from 'smol-toml';
import { isRecord } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { type OrchCommand, readOwnWords } from '../orch-command.ts';
import { appendEntry, type Problem, readJson, removeEntry, type Settings } from './json-text.ts';

/* How agents learn about orch's tools: the MCP server, the permission to use it, and texts that explain it. */

const about = 'Records what agents do in git: brief, decisions, failed attempts, checkpoints, budgets';

/** Writes the file that makes a folder in `.claude/skills` a plugin, which Claude Code loads in trusted repositories. */
export function writeClaudePlugin(command: OrchCommand): string {
  const [program = '', ...args] = [...command, 'mcp'];
  const plugin = { name: 'orch', description: about, mcpServers: { orch: { command: program, args } } };
  return `${JSON.stringify(plugin, null, 2)}\n`;
}

export function isOwnPlugin(text: string): boolean {
  const json = readJson(text);
  if ('problem' in json) return false;
  const { command, args } = fieldsOf(fieldsOf(json.value.mcpServers).orch);
  return Array.isArray(args) && isServer([command, ...args]);
}

function fieldsOf(value: unknown): Settings {
  return isRecord(value) ? value : {};
}

function isServer(words: readonly unknown[]): boolean {
  const own = readOwnWords(words.map(String));
  return own?.length === 1 && own[0] === 'mcp';
}

/** Do these settings enable orch's marketplace plugin? It brings hooks, tools and skill itself. */
export function hasPlugin(claudeSettings: string | null): boolean {
  const json = readJson(claudeSettings ?? '');
  const enabled = 'problem' in json ? {} : fieldsOf(json.value.enabledPlugins);
  return Object.entries(enabled).some(([name, isOn]) => /^orch@(?!skills-dir$)/.test(name) && isOn !== false);
}

/** What Claude Code asks the user about the plugin's server, and where it stores a yes. */
const answers = [
  { keys: ['permissions', 'allow'], value: 'mcp__plugin_orch_orch' },
  { keys: ['enabledMcpjsonServers'], value: 'plugin:orch:orch' },
] as const;

/** Lets Claude Code start orch's server and use its tools: running `orch init` agrees to both. */
export function allowTools(text: string): { readonly text: string } | Problem {
  let edited = text;
  for (const { keys, value } of answers) {
    const added = addToList(edited, keys, value);
    if ('problem' in added) return added;
    edited = added.text;
  }
  return { text: edited };
}

/** Removes these answers; null if nothing else was in the file. */
export function disallowTools(text: string): string | null {
  return answers.reduceRight<string | null>(
    (left, { keys, value }) => (left === null ? null : removeFromList(left, keys, value)),
    text,
  );
}

export function allowsTools(text: string | null): boolean {
  return text !== null && disallowTools(text) !== text;
}

/** Adds a text to the list at this path, and creates what is missing on the way. */
function addToList(
  text: string,
  keys: readonly string[],
  value: string,
): { readonly text: string } | Problem {
  const json = readJson(text);
  if ('problem' in json) return json;
  let found: unknown = json.value;
  for (const [depth, key] of keys.entries()) {
    if (!isRecord(found)) return { problem: `its ${keys.slice(0, depth).join('.')} is not an object` };
    if (!Object.hasOwn(found, key)) {
      const rest = keys.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), [value]);
      return { text: appendEntry(text, keys.slice(0, depth), key, rest) };
    }
    found = found[key];
  }
  if (!Array.isArray(found)) return { problem: `its ${keys.join('.')} is not a list` };
  return { text: found.includes(value) ? text : appendEntry(text, keys, null, value) };
}

/** Removes it, with what was created for it. */
function removeFromList(text: string, keys: readonly string[], value: string): string | null {
  const json = readJson(text);
  const list =
    'problem' in json ? null : keys.reduce<unknown>((found, key) => fieldsOf(found)[key], json.value);
  const index = Array.isArray(list) ? list.indexOf(value) : -1;
  return index < 0 ? text : removeEntry(text, [...keys, index]);
}

/** How an agent starts the server. */
export type ServerStart = {
  readonly command: OrchCommand;
  /** The variables it needs, because Codex passes on few by default. */
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

/** Adds orch's server to Codex's `config.toml`, as the last table. */
export function addServer(text: string | null, start: ServerStart): { readonly text: string } | Problem {
  const clean = text === null ? null : removeServer(text);
  const problem = findTomlProblem(clean ?? '');
  if (problem !== null) return { problem };
  // The line break before the table is removed together with it.
  const added = clean === null ? writeTable(start) : `${clean}\n${writeTable(start)}`;
  const isTaken = findTomlProblem(added) !== null;
  return isTaken ? { problem: 'it has MCP servers that orch cannot add itself to' } : { text: added };
}

function findTomlProblem(text: string): string | null {
  try {
    parseToml(text.replace(/^\uFEFF/, ''), { integersAsBigInt: true });
    return null;
  } catch (error) {
    if (error instanceof TomlError) return `line ${error.line} is not valid TOML`;
    throw error;
  }
}

/** Removes exactly that table; null if nothing else was in the file. */
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
    return false; // written by hand, in TOML that is not JSON
  }
}

const mark = /\n<!-- Written by orch init ([0-9a-f]{16})\. Change it, and orch leaves it alone\. -->\n$/;

/** Adds a mark by which orch recognizes its own text until someone edits it. */
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
