import { join } from 'node:path';
import { findTranscripts } from '../../agents/transcript/transcript.ts';
import { readTools, type ToolMark, type ToolUse } from '../../agents/transcript/transcript-tools.ts';
import { amount, listOf, mapOf, text, withFields } from '../../checks.ts';
import { nameFile } from '../../ids.ts';
import { readLive } from '../../journal/live.ts';
import { type Keyed, lookUp } from '../../keyed.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { findFile } from '../../record/which/file-path.ts';
import type { Fact } from '../../state/facts.ts';
import type { State } from '../../state/lists.ts';
import { readJson, writeJson } from '../../system/json-file.ts';
import { withLock } from '../../system/lock.ts';
import { type AgentLink, toolMarksPath } from './agent-link.ts';

/*
 * Most tool calls run without a hook. What they did is read from the transcript the next time the agent is checked. If a
 * hook reports a call first, the call's mark keeps it from being recorded twice.
 */

/** How far tool calls were read, and the marks of those already recorded. */
type ToolProgress = { readonly files: Keyed<ToolMark>; readonly told: readonly string[] };

const isToolProgress = withFields<ToolProgress>({
  files: mapOf(
    withFields<ToolMark>({ inode: amount, offset: amount, tail: text, open: mapOf(listOf(amount)) }),
  ),
  told: listOf(text),
});

/** The transcript lags behind the hooks, but never by this many calls. */
const mostMarks = 200;

/** What a hook reported of one call. */
type ReportedCall = { readonly mark: string | null; readonly facts: readonly Fact[] };
export const nothingReported: ReportedCall = { mark: null, facts: [] };

/**
 * Reads what an agent's tools did since the last time and passes it to `record`, each call once. A lock keeps other
 * processes from reading meanwhile, and calls count as read only after `record` succeeds.
 */
export async function withToolFacts<T>(
  ports: SessionPorts,
  link: AgentLink,
  reported: ReportedCall,
  record: (facts: readonly Fact[]) => Promise<T>,
): Promise<T> {
  if (link.agent !== 'claude') return record(reported.facts);
  return withLock(ports, join(ports.home, 'locks', nameFile(link.session, '.told')), async () => {
    const path = toolMarksPath(ports.home, link.session);
    const before = readJson(path, isToolProgress) ?? { files: {}, told: [] };
    const { uses: read, marks } = readTools(before.files, filesOf(link));
    const { mark } = reported;
    const isKnown = mark !== null && (before.told.includes(mark) || read.some((tool) => tool.mark === mark));
    const fresh = read.filter((tool) => !before.told.includes(tool.mark));
    const facts = fresh.flatMap((tool) => placeFacts(ports, link, tool));
    const result = await record([...facts, ...(isKnown ? [] : reported.facts)]);
    const told = [...before.told, ...(mark === null ? [] : [mark]), ...read.map((tool) => tool.mark)];
    const next: ToolProgress = { files: marks, told: told.slice(-mostMarks) };
    if (JSON.stringify(next) !== JSON.stringify(before)) await writeJson(ports, path, next);
    return result;
  });
}

/** Completes task facts with their titles: an agent names a task once and later only reports its status. */
export function nameTasks(facts: readonly Fact[], { issues }: State): Fact[] {
  const names = new Map<string, string>();
  return facts.map((fact) => {
    if (fact.kind !== 'issue') return fact;
    const title = fact.title ?? names.get(fact.id) ?? lookUp(issues, fact.id)?.value.title ?? null;
    if (title !== null) names.set(fact.id, title);
    return { ...fact, title };
  });
}

/** The transcripts of the session, and from when on each counts. */
function filesOf({ joined = {} }: AgentLink): Keyed<number> {
  return Object.fromEntries(
    Object.entries(joined).flatMap(([path, at]) => findTranscripts(path).map((file) => [file, at])),
  );
}

/** The agent may have moved to the worktree of this process. */
function placeFacts(ports: SessionPorts, { session }: AgentLink, { cwd, facts }: ToolUse): Fact[] {
  return placeFiles([readLive(ports.home, session)?.worktree, ports.worktree], cwd, facts);
}

/** Converts the paths in file facts, which are relative to the agent's folder; drops files outside the repository. */
export function placeFiles(
  worktrees: readonly (string | null | undefined)[],
  cwd: string | null,
  facts: readonly Fact[],
): Fact[] {
  return facts.flatMap((fact): Fact[] => {
    if (fact.kind !== 'file') return [fact];
    const paths = worktrees.map((worktree) => worktree && findFile(fact.path, cwd ?? worktree, worktree));
    const path = paths.find(Boolean);
    return path ? [{ ...fact, path }] : [];
  });
}
