import type { HookCall } from '../agents/calls/hook-call.ts';
import { readPrompt } from '../agents/calls/prompt.ts';
import { checkLive, readLive, writeLive } from '../journal/live.ts';
import { lookUp } from '../keyed.ts';
import { readView } from '../record/view.ts';
import { type AgentLink, findLink, readLink } from '../session/agent/agent-link.ts';
import { noteWaiting } from '../session/agent/agent-waiting.ts';
import { placeFiles } from '../session/agent/tool-facts.ts';
import { describeMoney } from '../session/epic-status.ts';
import { loadRunningSession } from '../session/find-session.ts';
import type { Fact } from '../state/facts.ts';
import { compareStamps } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { identifyProcess } from '../system/process/identity.ts';
import { formatUsd } from '../units.ts';
import { nudgeHooked } from '../witness/hooked-agent.ts';
import { type AgentAnswer, type AgentPorts, emptyAnswer, type HookContext } from './agent-ports.ts';
import { recordAgentWork, type WorkOptions, type WorkResult } from './agent-work.ts';
import { describeStart } from './describe-start.ts';
import { describeFailure, forgetSession } from './end-agent.ts';
import { endOnBranch, followOwnBranch, followPrompt, nameNew } from './follow-branch.ts';
import { attachLink, openLink, startAgent } from './start-agent.ts';

/** Records what an agent reports, with what it used meanwhile, and answers whether it may continue. */
export async function handleAgent(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
): Promise<AgentAnswer> {
  const { event } = call;
  if (event.kind === 'start') return startAgent(ports, call, caller, event.source);
  const link = findCallLink(ports, call, caller);
  if (link) await noteWaiting(ports, link.session, call);
  const recordFacts = async (facts: readonly Fact[], options: WorkOptions = {}) => {
    const current = await openCurrentLink(ports, call, caller, link);
    return answer(await recordAgentWork(ports, current.link, current.view, facts, options), current.link);
  };
  switch (event.kind) {
    case 'unknown':
    case 'waiting':
      return emptyAnswer;
    case 'end':
      return link ? endOnBranch(ports, caller, link, event.reason) : emptyAnswer;
    case 'prompt':
      return handlePrompt(ports, call, caller, link, event.text);
    case 'before_tool': {
      if (link === null) return emptyAnswer;
      const view = await readView(ports, link.epic);
      return answer(await recordAgentWork(ports, link, view, [], { mark: event.mark }), link);
    }
    case 'tool': {
      const placed = placeFiles([ports.repository.worktree], call.cwd, event.facts);
      const answered = await recordFacts(placed, { toolCall: event.mark });
      const nudge = link && answered.halt === null ? await nudgeHooked(ports, link) : null;
      if (nudge === null) return answered;
      const message = [answered.message, nudge.user].filter((each) => each !== null).join(' ');
      return { ...answered, message, context: nudge.agent };
    }
    case 'helper_stop':
      // Its cost shows at once. Whether the session may continue is answered before the next tool.
      if (link) await recordFacts([]);
      return emptyAnswer;
    case 'before_compact':
      return recordFacts([], { checkpoint: { trigger: 'pre_compact', reason: null } });
    case 'after_compact':
      return recordFacts(makeTextFact('compactSummary', event.summary));
    case 'stop': {
      const facts = makeTextFact('lastMessage', event.lastMessage, { conversation: call.agentSession });
      const answered = await recordFacts(facts, { answer: event.lastMessage });
      const current = answered.halt === null ? findCallLink(ports, call, caller) : null;
      // If the agent made a branch in this turn, the next turn belongs to that branch's epic.
      if (current && (await followOwnBranch(ports, caller, current))) await openLink(ports, call, caller);
      return answered;
    }
    case 'failure': {
      const text = describeFailure(call, event.error);
      return recordFacts([{ kind: 'note', id: `n-${ports.random.id(6)}`, text }]);
    }
  }
}

async function handlePrompt(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
  link: AgentLink | null,
  prompt: string,
): Promise<AgentAnswer> {
  const kept = link && (await followPrompt(ports, caller, link, prompt));
  const opened = await openCurrentLink(ports, call, caller, kept);
  const current = await nameNew(ports, caller, opened.link, prompt);
  const view = current === opened.link ? opened.view : await readView(ports, current.epic);
  const facts = makePromptFact(view.state, call.agentSession, prompt);
  // Even a prompt that says nothing new begins the session: the turn's cost needs a place.
  const result = await recordAgentWork(ports, current, view, facts, { begins: true });
  // A full window blocks no prompt: the user must be able to compact it, or ask for something else.
  const answered = answer({ ...result, full: null }, current);
  const isSameSession = current.session === link?.session && current.epic === link.epic;
  if (isSameSession || caller.session) return answered;
  // The work is recorded elsewhere than the user was told at the start.
  const start = describeStart(view, await loadRunningSession(ports, current), current);
  return { ...answered, message: [start, answered.message ?? ''].join(' ').trim() };
}

/** Finds the link of a call. Under a supervisor only its session counts, whichever the conversation had before. */
export function findCallLink(
  { home }: Pick<AgentPorts, 'home'>,
  { agentSession }: HookCall,
  { session }: Pick<HookContext, 'session'>,
): AgentLink | null {
  if (session === undefined) return findLink(home, agentSession);
  const link = readLink(home, session);
  return link?.agentSessions.includes(agentSession) ? link : null;
}

function makeTextFact(
  key: string,
  text: string | null,
  more: { readonly conversation?: string } = {},
): Fact[] {
  return text === null || text.trim() === '' ? [] : [{ kind: 'current_set', key, value: { text, ...more } }];
}

/** Makes a fact of a prompt: a request, or a reply to what the agent last said; none for empty words. */
function makePromptFact({ messages }: State, conversation: string, prompt: string): Fact[] {
  const own = Object.values(messages).filter(({ value }) => value.conversation === conversation);
  const last = own.toSorted((a, b) => compareStamps(a.stamp, b.stamp)).at(-1);
  const asked = readPrompt(prompt, last?.value.text ?? null);
  if (asked.kind === 'nothing') return [];
  const { kind, ...value } = asked;
  if (kind === 'request') return [{ kind: 'current_set', key: 'asked', value }];
  return [{ kind: 'current_set', key: 'replied', value: { kind, ...value } }];
}

/**
 * Opens the link that facts of this call belong to. An agent that ran before orch was installed gets its session now, and
 * so does one whose session was ended by a person, or at a budget that was raised since: ended sessions take no facts.
 */
async function openCurrentLink(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
  known: AgentLink | null,
) {
  const link = known ?? (await beginLink(ports, call, caller));
  await adoptDead(ports, link, caller);
  const view = await readView(ports, link.epic);
  const status = lookUp(view.state.sessions, link.session)?.value.status;
  const isOver = status !== undefined && hasEnded(status) && describeMoney(view.state).level !== 'exceeded';
  if (!isOver || caller.session) return { link, view };
  await recordAgentWork(ports, link, view, []);
  forgetSession(ports, link);
  const next = await beginLink(ports, call, caller);
  return { link: next, view: await readView(ports, next.epic) };
}

/** Gives a session to the process that continues its conversation, if that process did not report its start. */
async function adoptDead(
  ports: AgentPorts,
  { session }: AgentLink,
  { agentPid }: HookContext,
): Promise<void> {
  const live = readLive(ports.home, session);
  if (live?.kind !== 'hooked' || checkLive(live) !== 'dead') return;
  await writeLive(ports, { ...live, holder: identifyProcess(agentPid) });
}

async function beginLink(ports: AgentPorts, call: HookCall, caller: HookContext): Promise<AgentLink> {
  const attached = caller.session && (await attachLink(ports, call, caller.session));
  return attached ? attached.link : (await openLink(ports, call, caller)).link;
}

/** Stops the agent over budget, or with a full window if the user wants that. */
function answer(result: WorkResult, { epic }: AgentLink): AgentAnswer {
  const { warn, stop } = result.verdict;
  const [warning] = warn;
  const messages = warning
    ? [`orch: ${formatUsd(warning.spent)} of ${formatUsd(warning.limit)} is spent on ${epic}.`]
    : [];
  if (result.warning !== null) messages.push(result.warning);
  const message = messages.length === 0 ? null : messages.join(' ');
  if (stop === null) return { ...emptyAnswer, message, halt: result.full };
  const spent = `${formatUsd(stop.spent)} of ${formatUsd(stop.limit)}`;
  const halt = `orch: the budget of ${epic} is used up (${spent}). Everything is saved. To continue, a person has to run: orch cost budget +10 -e ${epic}`;
  return { ...emptyAnswer, message, halt };
}
