import { resolve } from 'node:path';
import { hash } from '../digest.ts';
import { readAgentSession } from '../ids.ts';
import {
  type AgentName,
  type BriefGiven,
  type BriefToGive,
  type Conversation,
  commandOf,
  identifyAgent,
} from '../integration/agent-command.ts';
import {
  type AgentHomes,
  findLatestClaude,
  findLatestCodex,
  locateClaudeTranscript,
  locateRollout,
} from '../integration/agent-files.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Random } from '../system/clock.ts';
import { realPath, statIfThere } from '../system/files.ts';
import type { AgentSessionId, WriterId } from '../types.ts';

/** The conversation a command that is an agent has. */
export type AgentPlan = {
  readonly agent: AgentName;
  readonly homes: AgentHomes;
  /** The folder the agent works in. */
  readonly cwd: string;
  /** The agent's own name for it; null where it only shows while it runs. */
  readonly session: AgentSessionId | null;
  /** Was it there before? */
  readonly goesOn: boolean;
  /** Has its name to be put into the command line? */
  readonly isAdded: boolean;
  /** Why its cost cannot be read, where it cannot. */
  readonly unseen: string | null;
};

export type PlanRequest = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly homes: AgentHomes;
  /** Does the session go on from another? Then its conversation goes on too, where that was this agent's. */
  readonly resumes: boolean;
  /** This clone: only a conversation that it recorded itself is one to go on with. */
  readonly writer: WriterId;
};

/** Chooses the conversation for a command; null where it is no agent, or an agent that is to have none. */
export function planConversation(random: Random, state: State, request: PlanRequest): AgentPlan | null {
  const { argv, homes, resumes } = request;
  const agent = identifyAgent(argv);
  if (agent === null) return null;
  const command = commandOf(agent);
  const args = argv.slice(1);
  const said = command.read(args);
  if (said.kind === 'none') return null;
  const cwd = realFolder(command.folder(args), request.cwd);
  const last = resumes ? findOwnConversation(state, agent, request.writer) : null;
  const canGoOn = last !== null && findTranscript(agent, homes, cwd, last) !== null;
  // Some command lines have no place for it.
  const hasPlace = canGoOn && command.add(args, addition(last, false)).args.length > args.length;
  const choice = choose(said, {
    last: hasPlace ? last : null,
    fresh: command.takesNewId ? makeUuid(random) : null,
    latest: () =>
      agent === 'claude' ? findLatestClaude(homes.claude, cwd) : findLatestCodex(homes.codex, cwd),
  });
  return { agent, homes, cwd, ...choice };
}

/**
 * The conversation this clone had with the agent last. What another clone recorded is none: it would be looked for
 * among this user's own files, and its name would become an argument of the agent.
 */
function findOwnConversation(state: State, agent: AgentName, writer: WriterId): AgentSessionId | null {
  const last = readCurrent(state, 'agent');
  const by = lookUp(state.current, 'agent')?.stamp[1];
  return last?.name === agent && by === writer ? readAgentSession(last.session) : null;
}

function addition(session: AgentSessionId, isNew: boolean) {
  return { conversation: { session, isNew }, brief: null };
}

function realFolder(named: string | null, cwd: string): string {
  try {
    return realPath(named === null ? cwd : resolve(cwd, named));
  } catch {
    return cwd; // the agent will say that there is no such folder
  }
}

type Choice = Pick<AgentPlan, 'session' | 'goesOn' | 'isAdded' | 'unseen'>;

function choose(
  said: Exclude<Conversation, { kind: 'none' }>,
  known: {
    readonly last: AgentSessionId | null;
    readonly fresh: AgentSessionId | null;
    readonly latest: () => AgentSessionId | null;
  },
): Choice {
  const plain = { goesOn: false, isAdded: false, unseen: null };
  switch (said.kind) {
    case 'unknown':
      return { ...plain, session: null, unseen: said.why };
    case 'named':
      return { ...plain, session: said.session, goesOn: !said.isNew };
    case 'latest': {
      const session = known.latest();
      return { ...plain, session, goesOn: session !== null };
    }
    case 'open':
      if (known.last) return { ...plain, session: known.last, goesOn: true, isAdded: true };
      return { ...plain, session: known.fresh, isAdded: known.fresh !== null };
  }
}

/** The file of a conversation, where there is one. */
export function findTranscript(
  agent: AgentName,
  homes: AgentHomes,
  cwd: string,
  session: AgentSessionId,
): string | null {
  if (agent === 'codex') return locateRollout(homes.codex, session);
  const path = locateClaudeTranscript(homes.claude, cwd, session);
  return statIfThere(path) === null ? null : path;
}

/** The command line by which the agent has its conversation, and the brief where there is a place for it. */
export function writeCommand(
  argv: readonly string[],
  plan: AgentPlan,
  brief: BriefToGive | null,
): { readonly argv: readonly string[]; readonly given: BriefGiven } {
  const [program = '', ...args] = argv;
  const { session, goesOn, isAdded } = plan;
  const conversation = session !== null && isAdded ? { session, isNew: !goesOn } : null;
  const added = commandOf(plan.agent).add(args, { conversation, brief });
  return { argv: [program, ...added.args], given: added.given };
}

/** Which agent works, under its own name for the conversation. */
export function agentFact(name: AgentName, session: AgentSessionId, model: string | null): Fact {
  return { kind: 'current_set', key: 'agent', value: { name, session, model } };
}

/** A version 4 UUID, of the chance the port gives. */
function makeUuid(random: Random): AgentSessionId {
  const hex = hash('sha256', random.id(40));
  const variant = '89ab'[Number.parseInt(hex[16] ?? '0', 16) % 4];
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  const session = readAgentSession([...parts, hex.slice(20, 32)].join('-'));
  if (session === null) throw new Error('a UUID that is none');
  return session;
}
