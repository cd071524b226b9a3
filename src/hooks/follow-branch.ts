import { join } from 'node:path';
import { readHoldings, withEpic } from '../epic/epics.ts';
import { applyRename } from '../epic/rename-epic.ts';
import { isOrchError } from '../errors.ts';
import { branchMadeAt } from '../git/refs/file-refs.ts';
import { checkLive, listLive, readLive, writeLive } from '../journal/live.ts';
import { hasBegun } from '../record/begin.ts';
import { readView } from '../record/view.ts';
import { nameAfterRequest } from '../record/which/epic-name.ts';
import { rememberUsed } from '../record/which/last-used.ts';
import { findBranch, listAllEpics } from '../record/which/which-epic.ts';
import { type AgentLink, writeLink } from '../session/agent/agent-link.ts';
import { readCurrent } from '../state/current.ts';
import { renamedFact } from '../state/epic-names.ts';
import type { State } from '../state/lists.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis } from '../types.ts';
import { type AgentAnswer, type AgentPorts, emptyAnswer, type HookContext } from './agent-ports.ts';
import { endAgent } from './end-agent.ts';
import { chooseEpic } from './start-agent.ts';

/* Which epic an agent's work belongs to where none is named: its branch's, else one named after the first request. */

/** Follows a changed branch or a first request at a prompt; null if the work now needs another session. */
export async function followPrompt(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
  prompt: string,
): Promise<AgentLink | null> {
  const next = await findNext(ports, caller, link);
  if (next !== null) {
    if (next.isOwn) await moveWork(ports, caller, link, next.epic, 'another branch');
    else await endAgent(ports, link, caller, 'another branch');
    return null;
  }
  return (await nameBegun(ports, caller, link, prompt)) ? null : link;
}

/** Moves the work to the branch that the agent made for it in the turn that just ended; true if it did. */
export async function followOwnBranch(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
): Promise<boolean> {
  const next = hasBegun(ports, link.session) ? await findNext(ports, caller, link) : null;
  if (!next?.isOwn) return false;
  await moveWork(ports, caller, link, next.epic, 'another branch');
  return true;
}

/** Ends an agent's session, and moves its work to the branch that the agent made for it, if it made one. */
export async function endOnBranch(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
  reason: string | null,
): Promise<AgentAnswer> {
  const next =
    reason === 'clear' || !hasBegun(ports, link.session) ? null : await findNext(ports, caller, link);
  if (!next?.isOwn) return endAgent(ports, link, caller, reason);
  await moveWork(ports, caller, link, next.epic, reason);
  return emptyAnswer;
}

type Next = {
  readonly epic: EpicId;
  /** Is it a branch that was made for what this session does? */
  readonly isOwn: boolean;
};

/** Finds the epic the work continues in, if that has changed: a branch that was left gets no more costs. */
async function findNext(ports: AgentPorts, caller: HookContext, link: AgentLink): Promise<Next | null> {
  if (caller.session || !guesses.includes(link.because)) return null;
  const branch = await findBranch(ports);
  // A detached HEAD is no other line of work: the user may only be looking at a commit.
  if (branch === null) return null;
  const { epic, because } = await chooseEpic(ports, caller, link);
  if (epic === link.epic) return null;
  const since = readLive(ports.home, link.session)?.since;
  const isOwn =
    link.because !== 'branch' &&
    because === 'branch' &&
    since !== undefined &&
    isMadeSince(ports, branch, since);
  return { epic, isOwn };
}

const guesses: readonly AgentLink['because'][] = ['branch', 'last used', 'made up', 'request'];

/** Names the epic of a session that has not begun after its first request. */
export async function nameNew(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
  prompt: string,
): Promise<AgentLink> {
  if (caller.session || link.because !== 'made up' || hasBegun(ports, link.session)) return link;
  const { home } = ports;
  // Two agents that get the same request at once need different names.
  return withLock(ports, join(home, 'locks', 'epic-names.lock'), async () => {
    const epic = await nameRequest(ports, prompt);
    const live = readLive(home, link.session);
    if (epic === null || live === null) return link;
    const named: AgentLink = { ...link, epic, because: 'request' };
    await writeLive(ports, { ...live, epic });
    await writeLink(ports, named);
    return named;
  });
}

/** The same for a session that began with something else, such as a greeting or a budget; true if it got a name. */
async function nameBegun(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
  prompt: string,
): Promise<boolean> {
  if (caller.session || link.because !== 'made up' || !hasBegun(ports, link.session)) return false;
  const { state } = await readView(ports, link.epic);
  const epic = (await isOnlyOf(ports, link, state)) ? await nameRequest(ports, prompt) : null;
  if (epic === null) return false;
  const isNamed = await moveWork(ports, caller, link, epic, 'named after what was asked');
  if (isNamed) rememberUsed(ports.disk, ports.home, (await ports.git.readHead()).branch, epic);
  return true;
}

async function nameRequest(ports: AgentPorts, prompt: string): Promise<EpicId | null> {
  const waiting = listLive(ports.home).map(({ epic }) => epic);
  return nameAfterRequest(prompt, ports.redact, [...(await listAllEpics(ports)), ...waiting]);
}

/** Was the branch made while this session ran, so that it is meant for the session's work? */
function isMadeSince({ repository }: AgentPorts, branch: string, since: Millis): boolean {
  const madeAt = branchMadeAt(repository.commonDir, branch);
  // git counts whole seconds.
  return madeAt !== null && madeAt + 1_000 > since;
}

/** Is everything in the epic from this agent's conversation? Only then can all of it move. */
async function isOnlyOf(ports: AgentPorts, link: AgentLink, { sessions, ...rest }: State): Promise<boolean> {
  const writer = await ports.identifyWriter();
  const metered = readCurrent({ sessions, ...rest }, 'meteredAgents') ?? [];
  return (
    Object.values(sessions).every(
      ({ value }) => [link.agent, null].includes(value.agent) && value.writer === writer,
    ) &&
    metered.every((id) => link.agentSessions.includes(id)) &&
    !listLive(ports.home).some(
      (live) =>
        live.session !== link.session &&
        (live.epic === link.epic || live.above?.epic === link.epic) &&
        checkLive(live) !== 'dead',
    )
  );
}

/**
 * Ends an agent's session and renames its epic, with its history, costs and budget; false if the name stays, because
 * others may know it or the new one is taken. A crash leaves the whole epic under one name or the other.
 */
async function moveWork(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink,
  to: EpicId,
  reason: string | null,
): Promise<boolean> {
  const { epic } = link;
  const canGo = await canMoveWork(ports, link, to);
  await endAgent(ports, link, caller, reason, canGo ? [renamedFact(epic, to)] : []);
  if (!canGo) return false;
  try {
    await withEpic(ports, epic, () => applyRename(ports, epic, to));
    return true;
  } catch (error) {
    if (!isOrchError(error)) throw error;
    ports.report(`${epic} keeps its name: ${error.message}`);
    return false;
  }
}

async function canMoveWork(ports: AgentPorts, link: AgentLink, to: EpicId): Promise<boolean> {
  if (!hasBegun(ports, link.session) || (await listAllEpics(ports)).includes(to)) return false;
  const view = await readView(ports, link.epic);
  const { remotes } = await readHoldings(ports, view);
  return remotes.length === 0 && isOnlyOf(ports, link, view.state);
}
