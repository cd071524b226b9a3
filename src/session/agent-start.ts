import { join } from 'node:path';
import { hash } from '../digest.ts';
import { parseEpicId } from '../ids.ts';
import type { HookCall } from '../integration/agent-event.ts';
import { lookUp } from '../keyed.ts';
import { withLock } from '../system/lock.ts';
import { identifyProcess } from '../system/process.ts';
import type { EpicId, SessionId } from '../types.ts';
import { formatAge, toUsd } from '../units.ts';
import { aboveOf } from './above.ts';
import { type AgentAnswer, type AgentPorts, type Around, nothingToSay } from './agent-call.ts';
import { type AgentLink, emptyLink, findLink, readLink } from './agent-link.ts';
import { type AgentConversation, joinConversation } from './agent-meter.ts';
import { targetOf } from './agent-work.ts';
import { firstBudget } from './budget.ts';
import { type EpicView, readView } from './context.ts';
import { listSessions } from './fate.ts';
import { quoteHandover, quoteNews } from './handover.ts';
import { makeSessionId } from './here.ts';
import { journalFolder, readJournal } from './journal.ts';
import { checkLive, listLive, writeLive } from './live.ts';
import { tellNeighbours } from './neighbours.ts';
import { readOrchestration, withFacts } from './orchestration.ts';
import type { Target } from './pump-types.ts';
import { describeRecovered, recoverInterrupted, type Settled, settleConversation } from './recover.ts';
import { type EpicChoice, resolveEpic } from './resolve.ts';
import type { SessionSettings } from './settings.ts';
import { describeMoney } from './status.ts';

/** Names the tools, for an agent whose context does not: they may be installed as a server, a skill, or neither. */
const toolsLine =
  'orch records this session. Record decisions and failed approaches, with why, as they happen: with the orch tools (record, ask, brief; the orch skill says when) or `orch record`.';

/** An agent began, or continues with another context: gives it its session, and what it has to know. */
export async function startAgent(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  source: 'startup' | 'resume' | 'clear' | 'compact',
): Promise<AgentAnswer> {
  const answer = await beginAgent(ports, call, around, source);
  // A resumed conversation already has the line, a cleared one gets one line only, and one that is not recorded none.
  const tools = source === 'resume' || source === 'clear' || answer === nothingToSay ? null : toolsLine;
  const own = around.session ?? findLink(ports.home, call.agentSession)?.session ?? null;
  const isNew = source === 'startup' || source === 'resume';
  const others = isNew ? await tellNeighbours(ports, own) : null;
  const lines = [answer.context, tools, others].filter((line) => line !== null);
  return { ...answer, context: lines.length === 0 ? null : lines.join('\n') };
}

async function beginAgent(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  source: 'startup' | 'resume' | 'clear' | 'compact',
): Promise<AgentAnswer> {
  const known = around.session
    ? readLink(ports.home, around.session)
    : (findLink(ports.home, call.agentSession) ?? (source === 'clear' ? findByProcess(ports, around) : null));
  if (known && source !== 'startup' && source !== 'resume') return goOn(ports, call, known, source);
  if (around.session) return attach(ports, call, around.session);
  const { link, choice, recovered } = await openLink(ports, call, around);
  const view = await readView(ports, link.epic);
  // It is recorded with the first thing that happens in the session.
  const told = await readOrchestration(ports, view.state);
  const aware = await withFacts(ports, view, link.session, told);
  const isWorthTelling = link.parentSessionId !== null || told.length > 0;
  const context = !isWorthTelling
    ? null
    : source === 'resume'
      ? await quoteNews(ports, aware, call.agentSession)
      : await quoteHandover(ports, aware, 'new');
  const lost = recovered.map((dead) => {
    const age = formatAge(Math.max(1_000, ports.clock.now() - dead.seenAt));
    return `Session ${dead.number} was interrupted ${age} ago: ${describeRecovered(dead)}.`;
  });
  const apart = lost.length > 0 ? await tellDisk(ports, link.epic) : null;
  const start = describeStart(view, await targetOf(ports, link), choice);
  const message = [start, ...lost, ...(apart ? [`${apart}.`] : [])].join(' ');
  return { ...nothingToSay, context, message };
}

async function tellDisk(ports: AgentPorts, epic: EpicId): Promise<string | null> {
  return (await import('./disk-check.ts')).describeDisk(ports, epic);
}

/** An agent that a supervisor started works in the supervisor's session. */
async function attach(ports: AgentPorts, call: HookCall, session: SessionId): Promise<AgentAnswer> {
  const attached = await attachLink(ports, call, session);
  if (attached === null) return nothingToSay;
  const { link, view } = attached;
  const isTold = link.parentSessionId === null || link.isBriefed;
  return { ...nothingToSay, context: isTold ? null : await quoteHandover(ports, view, 'new') };
}

/** Adds an agent to the session of its supervisor; null where that session is none of this clone's. */
export async function attachLink(ports: AgentPorts, call: HookCall, session: SessionId) {
  const epic = readJournal(journalFolder(ports.home), session)?.header.epic;
  if (epic === undefined) return null;
  const view = await readView(ports, epic);
  const parentSessionId = view.state.sessions[session]?.value.parentSessionId ?? null;
  const about = { session, epic, because: 'session' as const, parentSessionId };
  const known = readLink(ports.home, session) ?? emptyLink(about, call.agent);
  if (!known.agentSessions.includes(call.agentSession))
    await settleConversation(ports, call.agentSession, await ports.readSettings());
  const link = await joinConversation(ports, known, view.state, conversationOf(call));
  return { link, view };
}

/**
 * The session of an agent that runs by itself: a new one, or that of its conversation, which another hook may have
 * opened at the same moment. Its journal begins with the first thing that happens in it.
 */
export async function openLink(ports: AgentPorts, call: HookCall, around: Around) {
  const lock = join(ports.home, 'locks', `agent-${hash('sha256', call.agentSession).slice(0, 16)}.lock`);
  return withLock(ports, lock, async () => {
    const settings = await ports.readSettings();
    const { link: known, recovered } = await settleConversation(ports, call.agentSession, settings);
    if (known === null) return makeLink(ports, call, around, settings, recovered);
    return { link: known, choice: { epic: known.epic, because: known.because }, recovered: [] };
  });
}

async function makeLink(
  ports: AgentPorts,
  call: HookCall,
  around: Around,
  settings: SessionSettings,
  settled: Settled['recovered'],
) {
  const choice = await chooseEpic(ports, around);
  const { epic } = choice;
  const before = settled.filter((dead) => dead.epic === epic);
  const recovered = [...before, ...(await recoverInterrupted(ports, epic, settings))];
  const view = await readView(ports, epic);
  const parentSessionId = listSessions(view, ports.home)[0]?.id ?? null;
  const session = makeSessionId(ports);
  const { commit: base } = await ports.git.readHead();
  await writeLive(ports.disk, ports.home, ports.random, {
    session,
    epic,
    holder: identifyProcess(around.agentPid),
    kind: 'hooked',
    waiting: { agent: call.agent, writer: await ports.identifyWriter() },
    worktree: ports.repository.worktree,
    command: null,
    since: ports.clock.now(),
    base,
    settings,
    ...aboveOf(ports.home, epic),
  });
  const about = { session, epic, because: choice.because, parentSessionId };
  const link = await joinConversation(ports, emptyLink(about, call.agent), view.state, conversationOf(call));
  return { link, choice, recovered };
}

/** The epic for work nobody named: never one that only happens to be alone here. One that no branch named stays. */
export async function chooseEpic(
  ports: AgentPorts,
  around: Around,
  link: AgentLink | null = null,
): Promise<EpicChoice> {
  const choice = await resolveEpic(ports, { environment: around.epic, create: true });
  // What another agent used last on this branch takes nobody away from where they are.
  if (link && unnamed.includes(choice.because) && unnamed.includes(link.because))
    return { epic: link.epic, because: link.because };
  if (choice.because !== 'only one' && choice.because !== 'made up') return choice;
  return { epic: parseEpicId(`epic-${ports.random.id(6)}`), because: 'made up' };
}

const unnamed: readonly EpicChoice['because'][] = ['last used', 'only one', 'made up', 'request'];

/** What its transcript holds by now was there before this session. */
function conversationOf({ agentSession, transcript }: HookCall): AgentConversation {
  return { session: agentSession, transcript, isNew: false };
}

function findByProcess(ports: AgentPorts, { agentPid }: Around): AgentLink | null {
  const mine = listLive(ports.home).find(
    (live) => live.kind === 'hooked' && live.holder.pid === agentPid && checkLive(live) === 'alive',
  );
  return mine ? readLink(ports.home, mine.session) : null;
}

/** The same work with another context: after clearing it one line, after compaction what would be lost. */
async function goOn(
  ports: AgentPorts,
  call: HookCall,
  link: AgentLink,
  source: 'clear' | 'compact',
): Promise<AgentAnswer> {
  const view = await readView(ports, link.epic);
  const { agentSession, transcript } = call;
  // A file it writes from now on is all of this session.
  await joinConversation(ports, link, view.state, { session: agentSession, transcript, isNew: true });
  if (source === 'clear') return { ...nothingToSay, context: `orch: recording continues for ${link.epic}.` };
  return { ...nothingToSay, context: await quoteHandover(ports, view, 'compacted') };
}

const reasons: { readonly [B in EpicChoice['because']]?: string } = {
  branch: ' (from the branch)',
  'last used': ' (the last one used on this branch)',
  'made up': ' (until your first request names it)',
  request: ' (named after the request)',
  config: ' (from the config)',
};

/** Where an agent's work goes, and what is left of the money. */
export function describeStart(
  view: EpicView,
  { session, settings }: Target,
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
