import { isOrchError } from '../errors.ts';
import { branchMadeAt } from '../git/refs.ts';
import { readCurrent } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import { renamedFact } from '../state/naming.ts';
import type { EpicId, Millis } from '../types.ts';
import { hasBegun } from './agent-begin.ts';
import type { AgentPorts, Around } from './agent-call.ts';
import { endAgent } from './agent-end.ts';
import type { AgentLink } from './agent-link.ts';
import { readView } from './context.ts';
import { readHoldings, withEpic } from './epics.ts';
import { checkLive, listLive } from './live.ts';
import { moveWhole } from './rename.ts';
import { listAllEpics } from './resolve.ts';

/* What an agent did before the work had a name of its own goes along when it gets one: history, costs, budget. */

/** Was the branch made while this session ran, so that its work is what the branch is for? */
export function isMadeSince({ repository }: AgentPorts, branch: string, since: Millis): boolean {
  const madeAt = branchMadeAt(repository.commonDir, branch);
  // git counts whole seconds.
  return madeAt !== null && madeAt + 1_000 > since;
}

/** Did this agent's conversation alone make the epic? Then nothing is in it that belongs elsewhere. */
export async function isOnlyOf(
  ports: AgentPorts,
  link: AgentLink,
  { sessions, ...rest }: State,
): Promise<boolean> {
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
 * Ends an agent's session and gives its epic another name; false where the name stays, because others may know the epic
 * by it or the new one is taken. A crash leaves the epic under the one name or the other, whole.
 */
export async function takeAlong(
  ports: AgentPorts,
  around: Around,
  link: AgentLink,
  to: EpicId,
  reason: string | null,
): Promise<boolean> {
  const { epic } = link;
  const canGo = await canTakeAlong(ports, link, to);
  await endAgent(ports, link, around, reason, canGo ? [renamedFact(epic, to)] : []);
  if (!canGo) return false;
  try {
    await withEpic(ports, epic, () => moveWhole(ports, epic, to));
    return true;
  } catch (error) {
    if (!isOrchError(error)) throw error;
    ports.report(`${epic} keeps its name: ${error.message}`);
    return false;
  }
}

async function canTakeAlong(ports: AgentPorts, link: AgentLink, to: EpicId): Promise<boolean> {
  if (!hasBegun(ports, link.session) || (await listAllEpics(ports)).includes(to)) return false;
  const view = await readView(ports, link.epic);
  const { remotes } = await readHoldings(ports, view);
  return remotes.length === 0 && isOnlyOf(ports, link, view.state);
}
