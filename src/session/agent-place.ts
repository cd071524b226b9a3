import { join } from 'node:path';
import { withLock } from '../system/lock.ts';
import type { EpicId } from '../types.ts';
import { hasBegun } from './agent-begin.ts';
import { type AgentAnswer, type AgentPorts, type Around, nothingToSay } from './agent-call.ts';
import { endAgent } from './agent-end.ts';
import { type AgentLink, writeLink } from './agent-link.ts';
import { chooseEpic } from './agent-start.ts';
import { readView } from './context.ts';
import { nameAfterRequest } from './epic-name.ts';
import { rememberUsed } from './last-used.ts';
import { listLive, readLive, writeLive } from './live.ts';
import { findBranch, listAllEpics } from './resolve.ts';
import { isMadeSince, isOnlyOf, takeAlong } from './take-along.ts';

/* Which epic an agent's work belongs to, where nobody said it: its branch's, else one named after what was asked. */

/** The link that stays for a prompt; null where the work goes on in another session, of another epic or another name. */
export async function followWork(
  ports: AgentPorts,
  around: Around,
  link: AgentLink,
  prompt: string,
): Promise<AgentLink | null> {
  const next = await findNext(ports, around, link);
  if (next !== null) {
    if (next.isOwn) await takeAlong(ports, around, link, next.epic, 'another branch');
    else await endAgent(ports, link, around, 'another branch');
    return null;
  }
  return (await nameBegun(ports, around, link, prompt)) ? null : link;
}

/** A turn is over in which the agent made a branch for its work: true where all of it is under that from now on. */
export async function followOwnBranch(ports: AgentPorts, around: Around, link: AgentLink): Promise<boolean> {
  const next = hasBegun(ports, link.session) ? await findNext(ports, around, link) : null;
  if (!next?.isOwn) return false;
  await takeAlong(ports, around, link, next.epic, 'another branch');
  return true;
}

/** The agent is gone. The work of one that made a branch for it is found under that from now on. */
export async function leaveWork(
  ports: AgentPorts,
  around: Around,
  link: AgentLink,
  reason: string | null,
): Promise<AgentAnswer> {
  const next =
    reason === 'clear' || !hasBegun(ports, link.session) ? null : await findNext(ports, around, link);
  if (!next?.isOwn) return endAgent(ports, link, around, reason);
  await takeAlong(ports, around, link, next.epic, reason);
  return nothingToSay;
}

type Next = {
  readonly epic: EpicId;
  /** Is it a branch that was made for what this session does? */
  readonly isOwn: boolean;
};

/** Where the work goes on, where that is elsewhere: nothing more is billed to a branch that was left. */
async function findNext(ports: AgentPorts, around: Around, link: AgentLink): Promise<Next | null> {
  if (around.session || !guesses.includes(link.because)) return null;
  const branch = await findBranch(ports);
  // Who only looks at a commit, on no branch, has not gone over to another line of work.
  if (branch === null) return null;
  const { epic, because } = await chooseEpic(ports, around, link);
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

/** Names the epic of a session in which nothing happened yet after what it is asked first. */
export async function nameNew(
  ports: AgentPorts,
  around: Around,
  link: AgentLink,
  prompt: string,
): Promise<AgentLink> {
  if (around.session || link.because !== 'made up' || hasBegun(ports, link.session)) return link;
  const { disk, home, random } = ports;
  // Two agents that are asked the same at once get a name each.
  return withLock(ports, join(home, 'locks', 'epic-names.lock'), async () => {
    const epic = await nameRequest(ports, prompt);
    const live = readLive(home, link.session);
    if (epic === null || live === null) return link;
    const named: AgentLink = { ...link, epic, because: 'request' };
    await writeLive(disk, home, random, { ...live, epic });
    await writeLink(disk, home, random, named);
    return named;
  });
}

/** The same where something did happen before: a word to say hello, a budget. True where it goes on under the new name. */
async function nameBegun(
  ports: AgentPorts,
  around: Around,
  link: AgentLink,
  prompt: string,
): Promise<boolean> {
  if (around.session || link.because !== 'made up' || !hasBegun(ports, link.session)) return false;
  const { state } = await readView(ports, link.epic);
  const epic = (await isOnlyOf(ports, link, state)) ? await nameRequest(ports, prompt) : null;
  if (epic === null) return false;
  const isNamed = await takeAlong(ports, around, link, epic, 'named after what was asked');
  if (isNamed) rememberUsed(ports.disk, ports.home, (await ports.git.readHead()).branch, epic);
  return true;
}

async function nameRequest(ports: AgentPorts, prompt: string): Promise<EpicId | null> {
  const waiting = listLive(ports.home).map(({ epic }) => epic);
  return nameAfterRequest(prompt, ports.redact, [...(await listAllEpics(ports)), ...waiting]);
}
