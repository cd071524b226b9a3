import type { BriefGiven, BriefToGive } from '../agents/agent-command.ts';
import { listRollouts, locateClaudeTranscript, type Rollout, readRollout } from '../agents/agent-files.ts';
import { findFailure, type ProviderFailure } from '../agents/provider-limit.ts';
import { addUsage, noUsage } from '../cost/ledger.ts';
import { readAgentSession } from '../ids.ts';
import type { RunningSession, SessionPorts } from '../record/ports.ts';
import { record } from '../record/record.ts';

import { readView } from '../record/view.ts';
import { type AgentLink, emptyLink, readLink, removeLink, writeLink } from '../session/agent/agent-link.ts';
import { isNews, joinConversation, meterSession, metersOf } from '../session/agent/meter-session.ts';
import { nameTasks, nothingReported, withToolFacts } from '../session/agent/tool-facts.ts';

import { recoverConversation } from '../session/recover.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/disk.ts';
import type { Exit } from '../system/process/command.ts';
import type { AgentSessionId } from '../types.ts';
import { type AgentPlan, agentFact, findTranscript, writeCommand } from './conversation.ts';
import { decideWait, type Restart } from './decide.ts';

/** Follows what the agents of a session write about themselves. */
export type Follower = {
  /** The agent, if it is one that orch knows. */
  readonly agent: string | null;
  /** The command line to start it with. */
  readonly argv: readonly string[];
  /** How the command line contains the brief. */
  readonly given: BriefGiven;
  /** The brief itself; null where its agent needs none. */
  readonly briefText: string | null;
  /** Reads what their files say, including meters that have not changed. */
  readFacts(state: State): Promise<Fact[]>;
  /** Finds out whether it ended because its provider refused to continue. */
  findFailure(exit: Exit): ProviderFailure | null;
  /** Plans how it continues, if it ended only because of its provider's limit. */
  planRestart(exit: Exit): Promise<Restart | null>;
  /** Records what the agents' tools did and no hook reported. Call it when the agents have ended. */
  recordRest(): Promise<void>;
  close(): void;
};

export type FollowRequest = {
  readonly argv: readonly string[];
  /** Null where the command is no known agent; an agent that it starts may still report through its hooks. */
  readonly plan: AgentPlan | null;
  readonly brief: BriefToGive | null;
  readonly state: State;
  readonly waitsAtLimit: boolean;
};

/** Begins to follow the agents of a session. What their files already contain is not billed to it. */
export async function followAgents(
  ports: SessionPorts,
  target: RunningSession,
  { argv, plan, brief, state, waitsAtLimit }: FollowRequest,
): Promise<Follower> {
  const written = plan ? writeCommand(argv, plan, brief) : { argv, given: null };
  // An agent that only knows where the brief is gets it from its hooks.
  const isBriefed = written.given === 'text';
  const find = plan ? await beginPlan(ports, target, plan, state, isBriefed) : null;
  let session = plan?.session ?? null;
  let [known, waits, usedBefore] = [0, 0, 0];

  const failureOf = ({ status }: Exit) => {
    if (plan === null || session === null || status === 0) return null;
    const transcript = findTranscript(plan.agent, plan.homes, plan.cwd, session);
    return transcript === null ? null : findFailure(transcript);
  };

  return {
    agent: plan?.agent ?? null,
    argv: written.argv,
    given: written.given,
    briefText: brief?.text ?? null,
    async readFacts(current) {
      await find?.(current);
      const link = readLink(ports.home, target.session);
      if (link === null) return [];
      const { facts } = await meterSession(ports, link, current, link.transcripts);
      const used = facts.filter(isNews(current, target.session));
      if (plan && link.agentSessions.length !== known) session = findLast(plan, link) ?? session;
      known = link.agentSessions.length;
      return [...facts, ...(plan ? describeAgent(plan, session, used, current) : [])];
    },
    findFailure: failureOf,
    async planRestart(exit) {
      const limit = waitsAtLimit ? failureOf(exit)?.limit : null;
      if (!limit || plan === null || session === null) return null;
      const used = sumOutput((await readView(ports, target.epic)).state, target);
      if (used > usedBefore) waits = 0;
      usedBefore = used;
      const at = decideWait(limit, ports.clock.now(), waits);
      waits += 1;
      if (at === null) return null;
      // The command as typed continues the conversation by itself.
      if (plan.continues && !plan.isAdded) return { at, argv };
      const next = writeCommand(argv, { ...plan, session, continues: true, isAdded: true }, null);
      // Without a place for the conversation it cannot continue: a prompt from stdin is gone.
      return next.argv.some((word) => word.endsWith(session ?? '')) ? { at, argv: next.argv } : null;
    },
    async recordRest() {
      const link = readLink(ports.home, target.session);
      if (link === null) return;
      await withToolFacts(ports, link, nothingReported, async (done) => {
        const { state } = await readView(ports, target.epic);
        if (done.length > 0) await record(ports, target, nameTasks(done, state));
      });
    },
    close: () => removeLink(ports.disk, ports.home, target.session),
  };
}

/** Finds the agent's present conversation: clearing its context begins another one, and it may run other agents. */
function findLast({ agent, homes, cwd }: AgentPlan, { agentSessions }: AgentLink): AgentSessionId | null {
  const named = agentSessions.map(readAgentSession).filter((id) => id !== null);
  return named.findLast((id) => findTranscript(agent, homes, cwd, id) !== null) ?? null;
}

function sumOutput(state: State, { session }: RunningSession): number {
  return Object.values(metersOf(state, session)).reduce((sum, usage) => addUsage(sum, usage), noUsage).output;
}

/** Describes who works, if the conversation or the model has changed. */
function describeAgent(
  { agent }: AgentPlan,
  session: AgentSessionId | null,
  used: readonly (Fact & { kind: 'meter' })[],
  state: State,
): Fact[] {
  if (session === null) return [];
  const said = readCurrent(state, 'agent');
  const isSame = said?.name === agent && said.session === session;
  const busiest = [...used].sort((a, b) => b.usage.output - a.usage.output)[0]?.model ?? null;
  const model = (isSame ? said.model : null) ?? busiest;
  return isSame && said.model === model ? [] : [agentFact(agent, session, model)];
}

/** Links the session with its conversation, and returns the function that finds new files of it. */
async function beginPlan(
  ports: SessionPorts,
  { session, epic, settings }: RunningSession,
  plan: AgentPlan,
  state: State,
  isBriefed: boolean,
): Promise<(state: State) => Promise<void>> {
  const { agent, homes, cwd, continues } = plan;
  const parentSessionId = state.sessions[session]?.value.parentSessionId ?? null;
  const about = { session, epic, because: 'session' as const, parentSessionId };
  let link: AgentLink = { ...emptyLink(about, agent), isBriefed: isBriefed || continues };
  await writeLink(ports, link);
  if (plan.session !== null) {
    if (continues) await recoverConversation(ports, plan.session, settings);
    // Remembered before the file exists: if we die, a recovery still finds what was used.
    const transcript =
      agent === 'claude'
        ? locateClaudeTranscript(homes.claude, cwd, plan.session)
        : findTranscript(agent, homes, cwd, plan.session);
    const conversation = { session: plan.session, transcript, isNew: !continues };
    link = await joinConversation(ports, link, state, conversation);
  }
  const isThere = (known: AgentLink) => known.transcripts.some((path) => statIfThere(path) !== null);
  const findNew = agent === 'codex' ? makeRolloutFinder(plan) : null;
  return async (current) => {
    let known = readLink(ports.home, session) ?? link;
    const threads = findNew?.(known) ?? [];
    const named =
      plan.session !== null && !isThere(known) ? findTranscript(agent, homes, cwd, plan.session) : null;
    if (named !== null && plan.session !== null) threads.push({ thread: plan.session, path: named });
    for (const { thread, path } of threads)
      known = await joinConversation(ports, known, current, {
        session: thread,
        transcript: path,
        isNew: true,
      });
  };
}

/** Finds the files Codex has created since: its conversation's, by working folder, and those of agents it started. */
function makeRolloutFinder({ homes, cwd, session, unseen }: AgentPlan) {
  const before = new Set(listRollouts(homes.codex, recentDays));
  const heads = new Map<string, Rollout>();
  let root = session;
  return (link: AgentLink): Pick<Rollout, 'thread' | 'path'>[] => {
    for (const path of listRollouts(homes.codex, recentDays)) {
      if (before.has(path) || heads.has(path)) continue;
      const head = readRollout(path);
      if (head !== null) heads.set(path, head);
    }
    const all = [...heads.values()];
    if (unseen === null)
      root ??= all.find((head) => head.cwd === cwd && head.thread === head.session)?.thread ?? null;
    // Agents it started belong to its conversation, but are not the one that continues.
    const own = all.filter((head) => head.session === root && !link.transcripts.includes(head.path));
    return own.map(({ thread, session: asked, path }) => ({ thread: asked ?? thread, path }));
  };
}

/** A session may run past midnight. */
const recentDays = 2;
