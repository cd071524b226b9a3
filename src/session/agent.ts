import type { HookCall } from '../integration/agent-event.ts';
import { readPrompt } from '../integration/prompt.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import { compareStamps } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { identifyProcess } from '../system/process.ts';
import { formatUsd } from '../units.ts';
import { type AgentAnswer, type AgentPorts, type Around, nothingToSay } from './agent-call.ts';
import { forgetSession } from './agent-end.ts';
import { type AgentLink, findLink, readLink } from './agent-link.ts';
import { followOwnBranch, followWork, leaveWork, nameNew } from './agent-place.ts';
import { attachLink, describeStart, openLink, startAgent } from './agent-start.ts';
import { placeFiles } from './agent-told.ts';
import { noteWaiting } from './agent-waiting.ts';
import { targetOf, type Wanted, type Worked, work } from './agent-work.ts';
import { readView } from './context.ts';
import { checkLive, readLive, writeLive } from './live.ts';
import { describeMoney } from './status.ts';

/** Takes what an agent tells of itself: records it, meters it, and says whether it may go on. */
export async function handleAgent(ports: AgentPorts, call: HookCall, around: Around): Promise<AgentAnswer> {
  const { event } = call;
  if (event.kind === 'start') return startAgent(ports, call, around, event.source);
  const link = linkOf(ports, call, around);
  if (link) await noteWaiting(ports, link.session, call);
  switch (event.kind) {
    case 'unknown':
    case 'waiting':
      return nothingToSay;
    case 'end':
      return link ? leaveWork(ports, around, link, event.reason) : nothingToSay;
    case 'prompt': {
      const stays = link && (await followWork(ports, around, link, event.text));
      const opened = await currentLink(ports, call, around, stays);
      const current = await nameNew(ports, around, opened.link, event.text);
      const view = current === opened.link ? opened.view : await readView(ports, current.epic);
      // Its session begins even if it was only told to go on: what the turn costs must have a place.
      const facts = asking(view.state, call.agentSession, event.text);
      const worked = await work(ports, current, view, facts, { begins: true });
      // A full window blocks no prompt: what makes room in it, and what the user asks then, must come through.
      const said = answer({ ...worked, full: null }, current);
      const isAsTold = current.session === link?.session && current.epic === link.epic;
      if (isAsTold || around.session) return said;
      // What is asked now goes elsewhere than the user was told at the start.
      const start = describeStart(view, await targetOf(ports, current), current);
      const message = [start, said.message ?? ''].join(' ').trim();
      return { ...said, message };
    }
    case 'before_tool': {
      const view = link && (await readView(ports, link.epic));
      return link && view
        ? answer(await work(ports, link, view, [], { mark: event.mark }), link)
        : nothingToSay;
    }
    case 'tool':
      return withLink(
        ports,
        call,
        around,
        link,
        placeFiles([ports.repository.worktree], call.cwd, event.facts),
        { told: event.mark },
      );
    case 'helper_stop':
      // What it cost is seen at once; whether the session may go on is said before the next tool.
      if (link) await withLink(ports, call, around, link, []);
      return nothingToSay;
    case 'before_compact':
      return withLink(ports, call, around, link, [], { ask: { trigger: 'pre_compact', reason: null } });
    case 'after_compact':
      return withLink(ports, call, around, link, saying('compactSummary', event.summary));
    case 'stop': {
      const facts = saying('lastMessage', event.lastMessage, { conversation: call.agentSession });
      const said = await withLink(ports, call, around, link, facts, { answer: event.lastMessage });
      const current = said.halt === null ? linkOf(ports, call, around) : null;
      // The next turn is in the epic of the branch that this one made.
      if (current && (await followOwnBranch(ports, around, current))) await openLink(ports, call, around);
      return said;
    }
    case 'failure': {
      const text = `${call.agent} could not go on: ${event.error}`;
      return withLink(ports, call, around, link, [{ kind: 'note', id: `n-${ports.random.id(6)}`, text }]);
    }
  }
}

/** Under a supervisor there is no other session than its own, whichever one the conversation had before. */
export function linkOf(
  { home }: Pick<AgentPorts, 'home'>,
  { agentSession }: HookCall,
  { session }: Pick<Around, 'session'>,
): AgentLink | null {
  if (session === undefined) return findLink(home, agentSession);
  const link = readLink(home, session);
  return link?.agentSessions.includes(agentSession) ? link : null;
}

function saying(key: string, text: string | null, more: { readonly conversation?: string } = {}): Fact[] {
  return text === null || text.trim() === '' ? [] : [{ kind: 'current_set', key, value: { text, ...more } }];
}

/** What the user wants, or answers to what the agent asked; nothing where nobody asked for anything. */
function asking({ messages }: State, conversation: string, prompt: string): Fact[] {
  const own = Object.values(messages).filter(({ value }) => value.conversation === conversation);
  const last = own.toSorted((a, b) => compareStamps(a.stamp, b.stamp)).at(-1);
  const asked = readPrompt(prompt, last?.value.text ?? null);
  if (asked.kind === 'nothing') return [];
  const { kind, ...value } = asked;
  if (kind === 'request') return [{ kind: 'current_set', key: 'asked', value }];
  return [{ kind: 'current_set', key: 'replied', value: { kind, ...value } }];
}

/** Records for an agent, in the session it is in. */
async function withLink(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  known: AgentLink | null,
  facts: readonly Fact[],
  more: Wanted = {},
): Promise<AgentAnswer> {
  const { link, view } = await currentLink(ports, call, around, known);
  return answer(await work(ports, link, view, facts, more), link);
}

/**
 * The link for what happens now. An agent that was there before orch gets its session now; and so does one whose
 * session has ended, be it by hand or at a budget that was raised since: what has ended takes nothing more.
 */
async function currentLink(ports: AgentPorts, call: HookCall, around: Around, known: AgentLink | null) {
  const link = known ?? (await beginLink(ports, call, around));
  await adopt(ports, link, around);
  const view = await readView(ports, link.epic);
  const status = lookUp(view.state.sessions, link.session)?.value.status;
  const hasGone = status !== undefined && hasEnded(status) && describeMoney(view.state).level !== 'exceeded';
  if (!hasGone || around.session) return { link, view };
  await work(ports, link, view, []);
  forgetSession(ports, link);
  const next = await beginLink(ports, call, around);
  return { link: next, view: await readView(ports, next.epic) };
}

/** A session whose conversation goes on in another process, though nobody heard it start, is that one's. */
async function adopt(ports: AgentPorts, { session }: AgentLink, { agentPid }: Around): Promise<void> {
  const live = readLive(ports.home, session);
  if (live?.kind !== 'hooked' || checkLive(live) !== 'dead') return;
  await writeLive(ports.disk, ports.home, ports.random, { ...live, holder: identifyProcess(agentPid) });
}

async function beginLink(ports: AgentPorts, call: HookCall, around: Around): Promise<AgentLink> {
  const attached = around.session && (await attachLink(ports, call, around.session));
  return attached ? attached.link : (await openLink(ports, call, around)).link;
}

/** What came of it, for the agent: past the budget it must not go on, nor with a full window where the user wants that. */
function answer(worked: Worked, { epic }: AgentLink): AgentAnswer {
  const { warn, stop } = worked.verdict;
  const [warning] = warn;
  const said = warning
    ? [`orch: ${formatUsd(warning.spent)} of ${formatUsd(warning.limit)} is spent on ${epic}.`]
    : [];
  if (worked.warning !== null) said.push(worked.warning);
  const message = said.length === 0 ? null : said.join(' ');
  if (stop === null) return { ...nothingToSay, message, halt: worked.full };
  const spent = `${formatUsd(stop.spent)} of ${formatUsd(stop.limit)}`;
  const halt = `orch: the budget of ${epic} is used up (${spent}). All is saved. To go on, a person runs: orch cost budget +10 -e ${epic}`;
  return { ...nothingToSay, message, halt };
}
