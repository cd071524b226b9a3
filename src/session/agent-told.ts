import { join } from 'node:path';
import { amount, listOf, mapOf, readChecked, text, withFields } from '../checks.ts';
import { nameFile } from '../ids.ts';
import { findTranscripts } from '../integration/transcript.ts';
import { readTools, type ToldTool, type ToolMark } from '../integration/transcript-tools.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { readTextIfThere, writeAtomically } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import { type AgentLink, toldPath } from './agent-link.ts';
import { findFile } from './file-path.ts';
import { readLive } from './live.ts';
import type { SessionPorts } from './record.ts';

/*
 * What an agent's tools did is in its transcript, and most calls are not looked at while they run: it is read from there
 * when the agent is looked at. Where a hook tells it first, the mark of the call says that it is recorded.
 */

/** How far the tools were read, and which of them hooks told of. */
type Kept = { readonly files: Keyed<ToolMark>; readonly told: readonly string[] };

const isKept = withFields<Kept>({
  files: mapOf(
    withFields<ToolMark>({ inode: amount, offset: amount, tail: text, open: mapOf(listOf(amount)) }),
  ),
  told: listOf(text),
});

/** A transcript is a moment behind a hook; so many calls it is never. */
const mostTold = 200;

/** What a hook tells of one call. */
export type HookTold = { readonly mark: string | null; readonly facts: readonly Fact[] };
export const noHook: HookTold = { mark: null, facts: [] };

/**
 * Records what an agent's tools did since the last time, each once: `take` gets the facts and records them. Nobody else
 * reads meanwhile, and what was read counts as read only when it is recorded.
 */
export async function withTold<T>(
  ports: SessionPorts,
  link: AgentLink,
  hook: HookTold,
  take: (facts: readonly Fact[]) => Promise<T>,
): Promise<T> {
  if (link.agent !== 'claude') return take(hook.facts);
  return withLock(ports, join(ports.home, 'locks', nameFile(link.session, '.told')), async () => {
    const path = toldPath(ports.home, link.session);
    const kept = readChecked(readTextIfThere(path), isKept) ?? { files: {}, told: [] };
    const { told: read, marks } = readTools(kept.files, filesOf(link));
    const { mark } = hook;
    const isKnown = mark !== null && (kept.told.includes(mark) || read.some((tool) => tool.mark === mark));
    const fresh = read.filter((tool) => !kept.told.includes(tool.mark));
    const facts = fresh.flatMap((tool) => placeFacts(ports, link, tool));
    const taken = await take([...facts, ...(isKnown ? [] : hook.facts)]);
    const told = mark === null ? kept.told : [...kept.told, mark].slice(-mostTold);
    const next: Kept = { files: marks, told: [...told, ...read.map((tool) => tool.mark)].slice(-mostTold) };
    if (JSON.stringify(next) !== JSON.stringify(kept))
      await writeAtomically(ports.disk, path, Buffer.from(JSON.stringify(next)), ports.random.id(8));
    return taken;
  });
}

/** An agent names a task once, and later only says what became of it. */
export function nameTasks(facts: readonly Fact[], { issues }: State): Fact[] {
  const names = new Map<string, string>();
  return facts.map((fact) => {
    if (fact.kind !== 'issue') return fact;
    const title = fact.title ?? names.get(fact.id) ?? lookUp(issues, fact.id)?.value.title ?? null;
    if (title !== null) names.set(fact.id, title);
    return { ...fact, title };
  });
}

/** The files of the session's conversations, and from when on each counts. */
function filesOf({ joined = {} }: AgentLink): Keyed<number> {
  return Object.fromEntries(
    Object.entries(joined).flatMap(([path, at]) => findTranscripts(path).map((file) => [file, at])),
  );
}

/** The agent may have gone to the worktree from which it is looked at now. */
function placeFacts(ports: SessionPorts, { session }: AgentLink, { cwd, facts }: ToldTool): Fact[] {
  return placeFiles([readLive(ports.home, session)?.worktree, ports.worktree], cwd, facts);
}

/** An agent names files from the folder it is in; those outside of the repository are left out. */
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
