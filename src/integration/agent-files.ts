import { basename, join } from 'node:path';
import { asFields } from '../cost/fields.ts';
import { nameFile, readAgentSession } from '../ids.ts';
import { listFolder, readFrom, statIfThere } from '../system/files.ts';
import type { AgentSessionId } from '../types.ts';

/** Where the agents keep what is theirs. */
export type AgentHomes = { readonly claude: string; readonly codex: string };

/** The file Claude Code writes a conversation to. It is looked for elsewhere too: long paths have other names. */
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

/** The last conversation Claude Code had in a folder. */
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

/** A file Codex writes a conversation to. */
export type Rollout = {
  readonly path: string;
  /** Of its own conversation. */
  readonly thread: AgentSessionId;
  /** Of the one that was asked for; another one's only where an agent started an agent. */
  readonly session: AgentSessionId;
  readonly cwd: string | null;
};

/** The paths of Codex's conversations, oldest day first; with `days`, those of the last days only. */
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

/** What a file of Codex says at its beginning; null while that is not whole. */
export function readRollout(path: string): Rollout | null {
  const text = readFrom(path, 0, longestHead)?.bytes.toString('utf8') ?? '';
  const end = text.indexOf('\n');
  try {
    const line = asFields(JSON.parse(end < 0 ? text : text.slice(0, end)));
    const head = line?.type === 'session_meta' ? asFields(line.payload) : null;
    const thread = readAgentSession(head?.id);
    if (head === null || thread === null) return null;
    const cwd = typeof head.cwd === 'string' ? head.cwd : null;
    return { path, thread, session: readAgentSession(head.session_id) ?? thread, cwd };
  } catch {
    return null;
  }
}

/** The instructions of the agent are in it. */
const longestHead = 1024 * 1024;

/** The file of one of Codex's conversations. */
export function locateRollout(home: string, session: AgentSessionId): string | null {
  return listRollouts(home).findLast((path) => path.endsWith(`-${nameFile(session, '.jsonl')}`)) ?? null;
}

/** The last conversation Codex had in a folder. */
export function findLatestCodex(home: string, cwd: string): AgentSessionId | null {
  const here = listRollouts(home, 30).filter((path) => {
    const rollout = readRollout(path);
    return rollout?.cwd === cwd && rollout.thread === rollout.session;
  });
  const newest = newestOf(here);
  return newest === null ? null : (readRollout(newest)?.thread ?? null);
}
