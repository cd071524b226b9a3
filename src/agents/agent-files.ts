import { basename, join } from 'node:path';
import { isRecord, readChecked } from '../checks.ts';
import { asFields } from '../cost/json-fields.ts';
import { nameFile, readAgentSession } from '../ids.ts';
import { listFolder, readFrom, statIfThere } from '../system/disk.ts';
import type { AgentSessionId } from '../types.ts';

/** The agents' own folders. */
export type AgentHomes = { readonly claude: string; readonly codex: string };

/** Locates a Claude Code transcript. Searches all projects too, because long paths get other folder names. */
export function locateClaudeTranscript(home: string, cwd: string, session: AgentSessionId): string {
  const file = nameFile(session, '.jsonl');
  const expected = join(claudeFolder(home, cwd), file);
  if (statIfThere(expected) !== null) return expected;
  const projects = join(home, 'projects');
  const found = listFolder(projects)
    .map((name) => join(projects, name, file))
    .find((path) => statIfThere(path) !== null);
  return found ?? expected;
}

function claudeFolder(home: string, cwd: string): string {
  return join(home, 'projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'));
}

/** Finds Claude Code's latest conversation in a folder. */
export function findLatestClaude(home: string, cwd: string): AgentSessionId | null {
  const folder = claudeFolder(home, cwd);
  const names = listFolder(folder).filter((name) => name.endsWith('.jsonl') && sessionOf(name) !== null);
  const newest = newestOf(names.map((name) => join(folder, name)));
  return newest === null ? null : sessionOf(newest);
}

function sessionOf(path: string): AgentSessionId | null {
  return readAgentSession(basename(path, '.jsonl'));
}

function newestOf(paths: readonly string[]): string | null {
  const timed = paths.map((path) => ({ path, at: statIfThere(path)?.mtimeMs ?? 0 }));
  return timed.sort((a, b) => b.at - a.at)[0]?.path ?? null;
}

/** A file in which Codex keeps a conversation. */
export type Rollout = {
  readonly path: string;
  /** The file's own conversation. */
  readonly thread: AgentSessionId;
  /** The conversation the user started; differs from `thread` for subagents. */
  readonly session: AgentSessionId;
  readonly cwd: string | null;
};

/** Lists Codex's conversations, oldest day first; with `days`, only those of the last days. */
export function listRollouts(home: string, days = Number.POSITIVE_INFINITY): string[] {
  const numbered = (folder: string) =>
    listFolder(folder)
      .filter((name) => /^\d+$/.test(name))
      .sort()
      .map((name) => join(folder, name));
  const folders: string[] = [];
  for (const year of numbered(join(home, 'sessions')).reverse())
    for (const month of numbered(year).reverse())
      for (const day of numbered(month).reverse()) {
        if (folders.length >= days) break;
        folders.unshift(day);
      }
  return folders.flatMap((folder) =>
    listFolder(folder)
      .filter((name) => /^rollout-.*\.jsonl$/.test(name))
      .sort()
      .map((name) => join(folder, name)),
  );
}

/** Reads the first line of a Codex file; null while it is incomplete. */
export function readRollout(path: string): Rollout | null {
  const text = readFrom(path, 0, longestHead)?.bytes.toString('utf8') ?? '';
  const end = text.indexOf('\n');
  const line = readChecked(end < 0 ? text : text.slice(0, end), isRecord);
  const head = line?.type === 'session_meta' ? asFields(line.payload) : null;
  const thread = readAgentSession(head?.id);
  if (head === null || thread === null) return null;
  const cwd = typeof head.cwd === 'string' ? head.cwd : null;
  return { path, thread, session: readAgentSession(head.session_id) ?? thread, cwd };
}

/** The first line contains the agent's instructions. */
const longestHead = 1024 * 1024;

/** Locates the file of a Codex conversation. */
export function locateRollout(home: string, session: AgentSessionId): string | null {
  return listRollouts(home).findLast((path) => path.endsWith(`-${nameFile(session, '.jsonl')}`)) ?? null;
}

/** Finds Codex's latest conversation in a folder. */
export function findLatestCodex(home: string, cwd: string): AgentSessionId | null {
  const here = listRollouts(home, 30).filter((path) => {
    const rollout = readRollout(path);
    return rollout?.cwd === cwd && rollout.thread === rollout.session;
  });
  const newest = newestOf(here);
  return newest === null ? null : (readRollout(newest)?.thread ?? null);
}
