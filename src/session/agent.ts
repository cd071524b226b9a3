import { isOn } from '../checkpoint/policy.ts';
import { systemCode } from '../errors.ts';
import type { HookCall } from '../integration/agent-event.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/files.ts';
import type { SessionId } from '../types.ts';
import { formatUsd } from '../units.ts';
import { type AgentAnswer, type AgentPorts, type Around, nothingToSay } from './agent-call.ts';
import { type AgentLink, findLink, readLink, removeLink } from './agent-link.ts';
import { awaitCost, explainFullContext, readAgent, warnOfUnpriced } from './agent-reading.ts';
import { attachLink, chooseEpic, openLink, startAgent } from './agent-start.ts';
import { readView } from './context.ts';
import { findFile } from './file-path.ts';
import { meteredFacts } from './import.ts';
import { journalFolder, journalPath } from './journal.ts';
import { endSession } from './lifecycle.ts';
import { readLive, removeLive } from './live.ts';
import { findUnpriced } from './meters.ts';
import { readOrchestration } from './orchestration.ts';
import { type Ask, type Outcome, record, recordInNew, type Target } from './record.ts';
import { describeMoney } from './status.ts';

/** Takes what an agent tells of itself: records it, meters it, and says whether it may go on. */
export async function handleAgent(ports: AgentPorts, call: HookCall, around: Around): Promise<AgentAnswer> {
  const { event } = call;
  if (event.kind === 'start') return startAgent(ports, call, around, event.source);
  const link = linkOf(ports, call, around);
  switch (event.kind) {
    case 'unknown':
      return nothingToSay;
    case 'end':
      return link ? endAgent(ports, link, around, event.reason) : nothingToSay;
    case 'prompt': {
      const current = await followBranch(ports, call, around, link);
      const fact: Fact = { kind: 'current_set', key: 'asked', value: { text: event.text } };
      const worked = await work(ports, current, [fact]);
      // A full window blocks no prompt: what makes room in it, and what the user asks then, must come through.
      return answer({ ...worked, full: null }, current);
    }
    case 'before_tool':
      return link ? answer(await work(ports, link, [], null, event.mark), link) : nothingToSay;
    case 'tool':
      return withLink(ports, call, around, link, placeFiles(ports, call, event.facts));
    case 'before_compact':
      return withLink(ports, call, around, link, [], { trigger: 'pre_compact', reason: null });
    case 'after_compact':
      return withLink(ports, call, around, link, saying('compactSummary', event.summary));
    case 'stop':
      return withLink(ports, call, around, link, saying('lastMessage', event.lastMessage));
    case 'failure': {
      const text = `${call.agent} could not go on: ${event.error}`;
      return withLink(ports, call, around, link, [{ kind: 'note', id: `n-${ports.random.id(6)}`, text }]);
    }
  }
}

/** Under a supervisor there is no other session than its own, whichever one the conversation had before. */
function linkOf({ home }: AgentPorts, { agentSession }: HookCall, { session }: Around): AgentLink | null {
  if (session === undefined) return findLink(home, agentSession);
  const link = readLink(home, session);
  return link?.agentSessions.includes(agentSession) ? link : null;
}

/** An agent says where files are from the folder it is in; of others than the repository's nothing is kept. */
function placeFiles({ repository }: AgentPorts, { cwd }: HookCall, facts: readonly Fact[]): Fact[] {
  const { worktree } = repository;
  return facts.flatMap((fact): Fact[] => {
    if (fact.kind !== 'file') return [fact];
    const path = worktree && findFile(fact.path, cwd ?? worktree, worktree);
    return path ? [{ ...fact, path }] : [];
  });
}

function saying(key: string, text: string | null): Fact[] {
  return text === null || text.trim() === '' ? [] : [{ kind: 'current_set', key, value: { text } }];
}

/** Records for an agent that may have been there before orch was: it gets its session now. */
async function withLink(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  link: AgentLink | null,
  facts: readonly Fact[],
  ask: Ask | null = null,
): Promise<AgentAnswer> {
  const current = link ?? (await beginLink(ports, call, around));
  return answer(await work(ports, current, facts, ask), current);
}

async function beginLink(ports: AgentPorts, call: HookCall, around: Around): Promise<AgentLink> {
  const attached = around.session && (await attachLink(ports, call, around.session));
  return attached ? attached.link : (await openLink(ports, call, around)).link;
}

/** The link for what is asked now: where the user went to another branch, nothing more is billed to the one before. */
async function followBranch(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  link: AgentLink | null,
): Promise<AgentLink> {
  if (link === null) return beginLink(ports, call, around);
  const isGuessed = ['branch', 'last used', 'made up'].includes(link.because) && !around.session;
  if (!isGuessed || (await chooseEpic(ports, around, link)).epic === link.epic) return link;
  await endAgent(ports, link, around, 'another branch');
  return (await openLink(ports, call, around)).link;
}

async function targetOf(ports: AgentPorts, { epic, session }: AgentLink): Promise<Target> {
  const settings = readLive(ports.home, session)?.settings ?? (await ports.readSettings());
  return { epic, session, settings };
}

function hasBegun({ home }: AgentPorts, session: SessionId): boolean {
  return statIfThere(journalPath(journalFolder(home), session)) !== null;
}

type Worked = {
  readonly verdict: Outcome['verdict'];
  /** What the user should know besides the verdict. */
  readonly warning: string | null;
  /** Why it must stop though there is money left. */
  readonly full: string | null;
  /** Why its budget cannot be kept. */
  readonly unpriced: string | null;
};

/** Records facts and what was used up meanwhile, and says what to make of it. */
async function work(
  ports: AgentPorts,
  link: AgentLink,
  facts: readonly Fact[],
  ask: Ask | null = null,
  mark: string | null = null,
): Promise<Worked> {
  const view = await readView(ports, link.epic);
  if (mark !== null) await awaitCost(ports, link, view.state, mark);
  const { used, context } = await readAgent(ports, link, view.state);
  const happened = [...facts.map((fact) => completed(fact, view.state)), ...used];
  // How full its window is makes no session of one in which nothing happened.
  const all = happened.length > 0 || hasBegun(ports, link.session) ? [...happened, ...context] : [];
  if (happened.length > 0) all.push(...meteredFacts(view.state, link.agentSessions));
  const target = await targetOf(ports, link);
  // Past the budget the answer is the same again, though nothing is new.
  const isCalledFor = view.pending.length > 0 || describeMoney(view.state).level === 'exceeded';
  const outcome = await recordWork(ports, link, target, all, ask, isCalledFor);
  const { state, verdict } = outcome ?? { state: view.state, verdict: { warn: [], stop: null } };
  const warning = warnOfUnpriced(view.state, state, (await ports.readConfig()).prices);
  const unpriced = outcome && explainUnpriced(outcome, link.epic);
  return { verdict, warning, unpriced, full: explainFullContext(target, link, state) };
}

async function recordWork(
  ports: AgentPorts,
  link: AgentLink,
  target: Target,
  all: readonly Fact[],
  ask: Ask | null,
  isCalledFor: boolean,
): Promise<Outcome | null> {
  const wanted = ask && isOn(target.settings.policy, ask.trigger) ? ask : null;
  if (all.length === 0 && wanted === null && !isCalledFor) return null;
  if (hasBegun(ports, link.session)) return record(ports, target, all, wanted);
  if (all.length === 0) return null; // nothing has happened in it yet
  const { agent, parentSessionId } = link;
  const opening = { ...target, agent, parentSessionId, endsWith: null };
  const first = isOn(target.settings.policy, 'session_start')
    ? { trigger: 'session_start' as const, reason: null }
    : null;
  try {
    const { state } = await readView(ports, link.epic);
    const told = await readOrchestration(ports, state);
    return await recordInNew(ports, opening, [...agentFacts(link), ...told, ...all], first);
  } catch (error) {
    // Two tools at once: the other one's hook was faster to begin it.
    if (!hasBegun(ports, link.session) || systemCode(causeOf(error)) !== 'EEXIST') throw error;
    return record(ports, target, all, wanted);
  }
}

/** By its own name for the conversation, it can go on another time. */
function agentFacts({ agent, agentSessions }: AgentLink): Fact[] {
  const session = agentSessions.at(-1);
  if (session === undefined) return [];
  return [{ kind: 'current_set', key: 'agent', value: { name: agent, session, model: null } }];
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : null;
}

/** An agent names a task once, and later only says what became of it. */
function completed(fact: Fact, state: State): Fact {
  if (fact.kind !== 'issue' || fact.title !== null) return fact;
  return { ...fact, title: lookUp(state.issues, fact.id)?.value.title ?? null };
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
  if (stop === null) return { ...nothingToSay, message, halt: worked.full ?? worked.unpriced };
  const spent = `${formatUsd(stop.spent)} of ${formatUsd(stop.limit)}`;
  const halt = `orch: the budget of ${epic} is used up (${spent}). All is saved. To go on, a person runs: orch cost budget +10 -e ${epic}`;
  return { ...nothingToSay, message, halt };
}

function explainUnpriced({ state, session }: Outcome, epic: string): string | null {
  const models = findUnpriced(state, session);
  if (models.length === 0) return null;
  return `orch: ${models.join(', ')} has no price, so the budget of ${epic} cannot be kept. All is saved. To go on, a person gives it one under prices in .orchestration/config.yaml, or runs: orch cost budget none -e ${epic}`;
}

/** The agent is gone. Clearing its context is not its end: it goes on in a moment under another name. */
async function endAgent(
  ports: AgentPorts,
  link: AgentLink,
  around: Around,
  reason: string | null,
): Promise<AgentAnswer> {
  if (reason === 'clear') return nothingToSay;
  const { session } = link;
  if (around.session === session) {
    await work(ports, link, []);
    return nothingToSay; // its supervisor ends it, and may go on with it
  }
  if (hasBegun(ports, session)) {
    await work(ports, link, []);
    await endSession(
      ports,
      await targetOf(ports, link),
      'pause',
      `${link.agent} ended${reason ? `: ${reason}` : ''}`,
    );
  } else removeLive(ports.disk, ports.home, session);
  removeLink(ports.disk, ports.home, session);
  return nothingToSay;
}
