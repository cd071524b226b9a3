import { basename } from 'node:path';
import { checkLive, type LiveRecord, listLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { firstBudget } from '../record/budget-rules.ts';
import type { RunningSession } from '../record/ports.ts';
import { type EpicView, readView } from '../record/view.ts';
import type { EpicChoice } from '../record/which/which-epic.ts';
import { describeMoney } from '../session/epic-status.ts';
import type { SessionId } from '../types.ts';
import { toUsd } from '../units.ts';
import type { AgentPorts } from './agent-ports.ts';

const reasons: { readonly [B in EpicChoice['because']]?: string } = {
  branch: ' (from the branch)',
  'last used': ' (the last one used on this branch)',
  'made up': ' (until your first request names it)',
  request: ' (named after the request)',
  config: ' (from the config)',
};

/** Describes where an agent's work is recorded, and how much of the budget is spent. */
export function describeStart(
  view: EpicView,
  { session, settings }: RunningSession,
  { epic, because }: EpicChoice,
): string {
  const { sessions } = view.state;
  const next = Math.max(0, ...Object.values(sessions).map(({ value }) => value.number)) + 1;
  const number = lookUp(sessions, session)?.value.number ?? next;
  const { spentUsd, limitUsd: set } = describeMoney(view.state);
  const [given] = firstBudget(view.state, settings);
  const limitUsd = given?.kind === 'budget_set' && given.limit !== null ? toUsd(given.limit) : set;
  const spent = `$${spentUsd.toFixed(2)}`;
  const money =
    limitUsd === null
      ? spentUsd > 0
        ? `${spent} spent, no budget`
        : 'no budget'
      : `${spent} of $${limitUsd.toFixed(2)}`;
  return `orch: ${epic}${reasons[because] ?? ''}, session ${number}, ${money}.`;
}

/** Warns an agent that starts about others at work in the same folder: it might undo their changes. */
export async function describeOtherAgents(ports: AgentPorts, own: SessionId | null): Promise<string | null> {
  const { home, repository } = ports;
  const others = listLive(home).filter(
    (live) =>
      live.session !== own &&
      live.worktree === repository.worktree &&
      (live.kind === 'hooked' || live.command !== null) &&
      checkLive(live) === 'alive',
  );
  if (others.length === 0) return null;
  const names = await Promise.all(others.slice(0, mostNamed).map((live) => nameAgent(ports, live)));
  const more = others.length > mostNamed ? ` and ${others.length - mostNamed} more` : '';
  return `orch: another agent is working in this folder: ${names.join(', ')}${more}. Changes you did not make may be its work; do not undo them.`;
}

const mostNamed = 3;

/** `claude (session 2 of feat-login)`. */
async function nameAgent(
  ports: AgentPorts,
  { session, epic, waiting, command }: LiveRecord,
): Promise<string> {
  const { sessions } = (await readView(ports, epic)).state;
  const known = lookUp(sessions, session)?.value;
  const agent = known?.agent ?? waiting?.agent ?? basename(command?.[0] ?? 'an agent');
  return `${agent} (${known ? `session ${known.number} of ` : ''}${epic})`;
}
