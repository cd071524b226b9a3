import { basename } from 'node:path';
import { lookUp } from '../keyed.ts';
import type { SessionId } from '../types.ts';
import type { AgentPorts } from './agent-call.ts';
import { readView } from './context.ts';
import { checkLive, type LiveRecord, listLive } from './live.ts';

/** Says who else works in this folder, for an agent that begins: what changes under its hands may be theirs. */
export async function tellNeighbours(ports: AgentPorts, own: SessionId | null): Promise<string | null> {
  const { home, repository } = ports;
  const others = listLive(home).filter(
    (live) =>
      live.session !== own &&
      live.worktree === repository.worktree &&
      (live.kind === 'hooked' || live.command !== null) &&
      checkLive(live) === 'alive',
  );
  if (others.length === 0) return null;
  const names = await Promise.all(others.slice(0, mostNamed).map((live) => nameOne(ports, live)));
  const more = others.length > mostNamed ? ` and ${others.length - mostNamed} more` : '';
  return `orch: another agent is working in this folder: ${names.join(', ')}${more}. Changes you did not make may be its work; do not undo them.`;
}

const mostNamed = 3;

/** `claude (session 2 of feat-login)`. */
async function nameOne(ports: AgentPorts, { session, epic, waiting, command }: LiveRecord): Promise<string> {
  const { sessions } = (await readView(ports, epic)).state;
  const known = lookUp(sessions, session)?.value;
  const agent = known?.agent ?? waiting?.agent ?? basename(command?.[0] ?? 'an agent');
  return `${agent} (${known ? `session ${known.number} of ` : ''}${epic})`;
}
