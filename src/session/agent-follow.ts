import { addUsage, noUsage } from '../cost/ledger.ts';
import { readAgentSession } from '../ids.ts';
import type { BriefGiven, BriefToGive } from '../integration/agent-command.ts';
import {
  listRollouts,
  locateClaudeTranscript,
  type Rollout,
  readRollout,
} from '../integration/agent-files.ts';
import { findFailure, type ProviderFailure } from '../integration/provider-limit.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Exit } from '../system/command.ts';
import { statIfThere } from '../system/files.ts';
import type { AgentSessionId, Millis } from '../types.ts';
import { type AgentLink, emptyLink, readLink, removeLink, writeLink } from './agent-link.ts';
import { joinConversation, meterSession } from './agent-meter.ts';
import { nameTasks, noHook, withTold } from './agent-told.ts';
import { readView } from './context.ts';
import { type AgentPlan, agentFact, findTranscript, writeCommand } from './conversation.ts';
import { decideWait } from './limit-wait.ts';
import { isNews, metersOf } from './meters.ts';
import { record, type SessionPorts, type Target } from './record.ts';
import { settleConversation } from './recover.ts';

/** How a command goes on after its end. */
export type Again = { readonly at: Millis; readonly argv: readonly string[] };

/** Follows what the agents of a session write of themselves. */
export type Follower = {
  /** The command line by which it starts. */
  readonly argv: readonly string[];
  /** How the brief is in it. */
  readonly given: BriefGiven;
  /** The brief itself; null where its agent needs none. */
  readonly briefText: string | null;
  /** What their files say, meters that read the same included. */
  readFacts(state: State): Promise<Fact[]>;
  /** Did it end because its provider refused to go on? */
  findFailure(exit: Exit): ProviderFailure | null;
  /** How it goes on, where it ended only because its provider lets it do no more for now. */
  planAgain(exit: Exit, state: State): Again | null;
  /** Records what the agents' tools did, as far as no hook has: the agents are gone. */
  recordRest(): Promise<void>;
  close(): void;
};

export type FollowRequest = {
  readonly argv: readonly string[];
  /** Null where the command is no agent; one it starts may still tell of itself by its hooks. */
  readonly plan: AgentPlan | null;
  readonly brief: BriefToGive | null;
  readonly state: State;
  readonly waitsAtLimit: boolean;
};

/** Begins to follow the agents of a session. What their files hold by now is not billed to it. */
export async function followAgents(
  ports: SessionPorts,
  target: Target,
  { argv, plan, brief, state, waitsAtLimit }: FollowRequest,
): Promise<Follower> {
  const written = plan ? writeCommand(argv, plan, brief) : { argv, given: null };
  // Hooks tell the brief to an agent that was only told where it is.
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
    planAgain(exit, current) {
      const limit = waitsAtLimit ? failureOf(exit)?.limit : null;
      if (!limit || plan === null || session === null) return null;
      const used = sumOutput(current, target);
      if (used > usedBefore) waits = 0;
      usedBefore = used;
      const at = decideWait(limit, ports.clock.now(), waits);
      waits += 1;
      if (at === null) return null;
      // What the user typed goes on with it by itself.
      if (plan.goesOn && !plan.isAdded) return { at, argv };
      const next = writeCommand(argv, { ...plan, session, goesOn: true, isAdded: true }, null);
      // A prompt that came by stdin is gone, and there is no place for the conversation either.
      return next.argv.some((word) => word.endsWith(session ?? '')) ? { at, argv: next.argv } : null;
    },
    async recordRest() {
      const link = readLink(ports.home, target.session);
      if (link === null) return;
      await withTold(ports, link, noHook, async (told) => {
        const { state } = await readView(ports, target.epic);
        if (told.length > 0) await record(ports, target, nameTasks(told, state));
      });
    },
    close: () => removeLink(ports.disk, ports.home, target.session),
  };
}

/** The agent's conversation now: clearing its context gives it another, and it may run an agent of another kind. */
function findLast({ agent, homes, cwd }: AgentPlan, { agentSessions }: AgentLink): AgentSessionId | null {
  const named = agentSessions.map(readAgentSession).filter((id) => id !== null);
  return named.findLast((id) => findTranscript(agent, homes, cwd, id) !== null) ?? null;
}

function sumOutput(state: State, { session }: Target): number {
  return Object.values(metersOf(state, session)).reduce((sum, usage) => addUsage(sum, usage), noUsage).output;
}

/** Says anew who works when the conversation or the model is another. */
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

/** Links the session with its conversation, and gives the function that finds the files it comes to have. */
async function beginPlan(
  ports: SessionPorts,
  { session, epic, settings }: Target,
  plan: AgentPlan,
  state: State,
  isBriefed: boolean,
): Promise<(state: State) => Promise<void>> {
  const { agent, homes, cwd, goesOn } = plan;
  const parentSessionId = state.sessions[session]?.value.parentSessionId ?? null;
  const about = { session, epic, because: 'session' as const, parentSessionId };
  let link: AgentLink = { ...emptyLink(about, agent), isBriefed: isBriefed || goesOn };
  await writeLink(ports.disk, ports.home, ports.random, link);
  if (plan.session !== null) {
    if (goesOn) await settleConversation(ports, plan.session, settings);
    // Where it will be is kept before it is there: who finds us dead finds what was used.
    const transcript =
      agent === 'claude'
        ? locateClaudeTranscript(homes.claude, cwd, plan.session)
        : findTranscript(agent, homes, cwd, plan.session);
    const conversation = { session: plan.session, transcript, isNew: !goesOn };
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

/** Finds the files Codex began since: that of its conversation, by the folder it works in, and of agents it started. */
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
    // Agents it started are in its conversation, and not the one that goes on.
    const own = all.filter((head) => head.session === root && !link.transcripts.includes(head.path));
    return own.map(({ thread, session: asked, path }) => ({ thread: asked ?? thread, path }));
  };
}

/** A run may go past midnight. */
const recentDays = 2;
