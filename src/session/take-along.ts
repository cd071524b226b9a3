import { prepareRename } from '../checkpoint/rename.ts';
import { hasCode } from '../errors.ts';
import { branchMadeAt } from '../git/refs.ts';
import { readCurrent } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Millis } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import type { AgentLink } from './agent-link.ts';
import { readView } from './context.ts';
import { setJournalsAside } from './delete.ts';
import { checkLive, listLive } from './live.ts';
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
 * Gives the epic of an agent whose session has just ended another name; false where it stays as it is. A crash leaves
 * it under the one name or the other, whole.
 */
export async function takeAlong(ports: AgentPorts, link: AgentLink, to: EpicId): Promise<boolean> {
  const { epic } = link;
  const { state, pending } = await readView(ports, epic);
  const isTaken = (await listAllEpics(ports)).includes(to);
  if (isTaken || pending.length > 0 || !(await isOnlyOf(ports, link, state))) return false;
  const rename = await prepareRename(ports, epic, to);
  if (rename === null) return false;
  await setJournalsAside(ports, epic, state);
  try {
    await rename();
    return true;
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    ports.report(`${epic} keeps its name: ${error.message}`);
    return false;
  }
}
