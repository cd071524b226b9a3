import { join } from 'node:path';
import type { HookCall, StartSource } from '../agents/calls/hook-call.ts';
import { hash } from '../digest.ts';
import { checkLive, listLive, writeLive } from '../journal/live.ts';
import { journalFolder, readJournalHeader } from '../journal/read.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import { readOrchestration } from '../orchestration-file/orchestration-file.ts';
import { makeSessionId } from '../record/begin.ts';
import { findPayingSession } from '../record/charge-above.ts';
import { listSessions } from '../record/sessions.ts';
import { readView, withFacts } from '../record/view.ts';
import { type EpicChoice, makeEpicId, resolveEpic } from '../record/which/which-epic.ts';
import { type AgentLink, emptyLink, findLink, readLink } from '../session/agent/agent-link.ts';
import { type AgentConversation, joinConversation } from '../session/agent/meter-session.ts';
import { loadRunningSession } from '../session/find-session.ts';
import { quoteHandover, quoteNews } from '../session/handover.ts';
import {
  describeRecovered,
  type RecoveredConversation,
  recoverConversation,
  recoverInterrupted,
} from '../session/recover.ts';
import { withLock } from '../system/lock.ts';
import { identifyProcess } from '../system/process/identity.ts';
import type { SessionId } from '../types.ts';
import { formatAge } from '../units.ts';
import { type AgentAnswer, type AgentPorts, emptyAnswer, type HookContext } from './agent-ports.ts';
import { describeOtherAgents, describeStart } from './describe-start.ts';

/** Tells the agent about orch's tools: they may be installed as a server, a skill, or neither. */
const toolsLine =
  'orch records this session. Record decisions and failed approaches, with why, as they happen: with the orch tools (record, ask, brief; the orch skill says when) or `orch record`.';

/** Gives an agent that starts, or continues with a new context, its session and its brief. */
export async function startAgent(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
  source: StartSource,
): Promise<AgentAnswer> {
  const answer = await beginAgent(ports, call, caller, source);
  // A resumed conversation already has this line, a cleared one gets a single line, and an unrecorded one gets none.
  const tools = source === 'resume' || source === 'clear' || answer === emptyAnswer ? null : toolsLine;
  const own = caller.session ?? findLink(ports.home, call.agentSession)?.session ?? null;
  const isNew = source === 'startup' || source === 'resume';
  const others = isNew ? await describeOtherAgents(ports, own) : null;
  const lines = [answer.context, tools, others].filter((line) => line !== null);
  return { ...answer, context: lines.length === 0 ? null : lines.join('\n') };
}

async function beginAgent(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
  source: StartSource,
): Promise<AgentAnswer> {
  const known = caller.session
    ? readLink(ports.home, caller.session)
    : (findLink(ports.home, call.agentSession) ?? (source === 'clear' ? findByProcess(ports, caller) : null));
  if (known && source !== 'startup' && source !== 'resume') return continueAgent(ports, call, known, source);
  if (caller.session) return attach(ports, call, caller.session);
  const { link, choice, recovered } = await openLink(ports, call, caller);
  const view = await readView(ports, link.epic);
  // Recorded only with the session's first fact, but the brief includes it now.
  const fromFile = await readOrchestration(ports, view.state);
  const updated = await withFacts(ports, view, link.session, fromFile);
  const hasBrief = link.parentSessionId !== null || fromFile.length > 0;
  const context = !hasBrief
    ? null
    : source === 'resume'
      ? await quoteNews(ports, updated, call.agentSession)
      : await quoteHandover(ports, updated, 'new');
  const lost = recovered.map((dead) => {
    const age = formatAge(Math.max(1_000, ports.clock.now() - dead.seenAt));
    return `Session ${dead.number} was interrupted ${age} ago: ${describeRecovered(dead)}.`;
  });
  const difference =
    lost.length > 0
      ? await (await import('../restore/session-changes.ts')).describeDisk(ports, link.epic)
      : null;
  const start = describeStart(view, await loadRunningSession(ports, link), choice);
  const message = [start, ...lost, ...(difference ? [`${difference}.`] : [])].join(' ');
  return { ...emptyAnswer, context, message };
}

/** An agent that a supervisor started works in the supervisor's session. */
async function attach(ports: AgentPorts, call: HookCall, session: SessionId): Promise<AgentAnswer> {
  const attached = await attachLink(ports, call, session);
  if (attached === null) return emptyAnswer;
  const { link, view } = attached;
  const needsBrief = link.parentSessionId !== null && !link.isBriefed;
  return { ...emptyAnswer, context: needsBrief ? await quoteHandover(ports, view, 'new') : null };
}

/** Adds an agent to the session of its supervisor; null if that session is not in this clone. */
export async function attachLink(ports: AgentPorts, call: HookCall, session: SessionId) {
  const epic = readJournalHeader(journalFolder(ports.home), session)?.epic;
  if (epic === undefined) return null;
  const view = await readView(ports, epic);
  const parentSessionId = view.state.sessions[session]?.value.parentSessionId ?? null;
  const about = { session, epic, because: 'session' as const, parentSessionId };
  const known = readLink(ports.home, session) ?? emptyLink(about, call.agent);
  if (!known.agentSessions.includes(call.agentSession))
    await recoverConversation(ports, call.agentSession, await ports.readSettings());
  const link = await joinConversation(ports, known, view.state, conversationOf(call));
  return { link, view };
}

/**
 * Opens the session of an unsupervised agent: a new one, or that of its conversation, which another hook may have
 * opened at the same moment. Its journal begins with its first fact.
 */
export async function openLink(ports: AgentPorts, call: HookCall, caller: HookContext) {
  const lock = join(ports.home, 'locks', `agent-${hash('sha256', call.agentSession).slice(0, 16)}.lock`);
  return withLock(ports, lock, async () => {
    const settings = await ports.readSettings();
    const { link: known, recovered } = await recoverConversation(ports, call.agentSession, settings);
    if (known === null) return makeLink(ports, call, caller, settings, recovered);
    return { link: known, choice: { epic: known.epic, because: known.because }, recovered: [] };
  });
}

async function makeLink(
  ports: AgentPorts,
  call: HookCall,
  caller: HookContext,
  settings: SessionSettings,
  alreadyRecovered: RecoveredConversation['recovered'],
) {
  const choice = await chooseEpic(ports, caller);
  const { epic } = choice;
  const before = alreadyRecovered.filter((dead) => dead.epic === epic);
  const recovered = [...before, ...(await recoverInterrupted(ports, epic, settings))];
  const view = await readView(ports, epic);
  const parentSessionId = listSessions(view, ports.home)[0]?.id ?? null;
  const session = makeSessionId(ports);
  const { commit: base } = await ports.git.readHead();
  await writeLive(ports, {
    session,
    epic,
    holder: identifyProcess(caller.agentPid),
    kind: 'hooked',
    waiting: { agent: call.agent, writer: await ports.identifyWriter() },
    worktree: ports.repository.worktree,
    command: null,
    since: ports.clock.now(),
    base,
    settings,
    ...findPayingSession(ports.home, epic),
  });
  const about = { session, epic, because: choice.because, parentSessionId };
  const link = await joinConversation(ports, emptyLink(about, call.agent), view.state, conversationOf(call));
  return { link, choice, recovered };
}

/** Chooses the epic for work that names none; being the only epic here is no reason. */
export async function chooseEpic(
  ports: AgentPorts,
  caller: HookContext,
  link: AgentLink | null = null,
): Promise<EpicChoice> {
  const choice = await resolveEpic(ports, { environment: caller.epic, create: true });
  // That another agent last used another epic on this branch is no reason to leave the present one.
  if (link && unnamed.includes(choice.because) && unnamed.includes(link.because))
    return { epic: link.epic, because: link.because };
  if (choice.because !== 'only one' && choice.because !== 'made up') return choice;
  return { epic: makeEpicId(ports.random), because: 'made up' };
}

const unnamed: readonly EpicChoice['because'][] = ['last used', 'only one', 'made up', 'request'];

/** What the transcript already contains was used before this session. */
function conversationOf({ agentSession, transcript }: HookCall): AgentConversation {
  return { session: agentSession, transcript, isNew: false };
}

function findByProcess(ports: AgentPorts, { agentPid }: HookContext): AgentLink | null {
  const mine = listLive(ports.home).find(
    (live) => live.kind === 'hooked' && live.holder.pid === agentPid && checkLive(live) === 'alive',
  );
  return mine ? readLink(ports.home, mine.session) : null;
}

/** Continues the same session with a new context: a cleared one gets one line, a compacted one the brief. */
async function continueAgent(
  ports: AgentPorts,
  call: HookCall,
  link: AgentLink,
  source: 'clear' | 'compact',
): Promise<AgentAnswer> {
  const view = await readView(ports, link.epic);
  const { agentSession, transcript } = call;
  // A file that the agent starts now belongs to this session entirely.
  await joinConversation(ports, link, view.state, { session: agentSession, transcript, isNew: true });
  if (source === 'clear') return { ...emptyAnswer, context: `orch: recording continues for ${link.epic}.` };
  return { ...emptyAnswer, context: await quoteHandover(ports, view, 'compacted') };
}
