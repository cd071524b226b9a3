import { resolve } from 'node:path';
import {
  type AgentName,
  type BriefGiven,
  type BriefToGive,
  type Conversation,
  commandOf,
  identifyAgent,
} from '../agents/agent-command.ts';
import {
  type AgentHomes,
  findLatestClaude,
  findLatestCodex,
  locateClaudeTranscript,
  locateRollout,
} from '../agents/agent-files.ts';
import { hash } from '../digest.ts';
import { readAgentSession } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { Random } from '../system/clock.ts';
import { realPath, statIfThere } from '../system/disk.ts';
import type { AgentSessionId, WriterId } from '../types.ts';

/** The conversation a command that is an agent has. */
export type AgentPlan = {
  readonly agent: AgentName;
  readonly homes: AgentHomes;
  /** The folder the agent works in. */
  readonly cwd: string;
  /** The agent's own id for it; null where it is known only once the agent runs. */
  readonly session: AgentSessionId | null;
  /** Did it exist before? */
  readonly continues: boolean;
  /** Does orch add its id to the command line? */
  readonly isAdded: boolean;
  /** Why its cost cannot be read; null where it can. */
  readonly unseen: string | null;
  /** Does it work for a convoy, in which people talk to it while it works? */
  readonly hearsMessages: boolean;
};

type PlanRequest = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly homes: AgentHomes;
  /** Does the session continue another? Then the conversation continues too, if it was this agent's. */
  readonly resumes: boolean;
  /** This clone: only a conversation that it recorded itself can be continued. */
  readonly writer: WriterId;
  readonly hearsMessages: boolean;
};

/** Reads the prompt from an agent's command line; null if it has none. */
export function readPrompt(argv: readonly string[]): string | null {
  const agent = identifyAgent(argv);
  return agent && commandOf(agent).prompt(argv.slice(1));
}

/** Chooses the conversation for a command; null where it is no known agent, or has no conversation. */
export function planConversation(random: Random, state: State, request: PlanRequest): AgentPlan | null {
  const { argv, homes, resumes, hearsMessages } = request;
  const agent = identifyAgent(argv);
  if (agent === null) return null;
  const command = commandOf(agent);
  const args = argv.slice(1);
  const said = command.read(args);
  if (said.kind === 'none') return null;
  const cwd = realFolder(command.folder(args), request.cwd);
  const last = resumes ? findOwnConversation(state, agent, request.writer) : null;
  const canContinue = last !== null && findTranscript(agent, homes, cwd, last) !== null;
  // Some command lines have no place for its id.
  const hasPlace = canContinue && command.add(args, addition(last, false)).args.length > args.length;
  const choice = choose(said, {
    last: hasPlace ? last : null,
    fresh: command.takesNewId ? makeUuid(random) : null,
    latest: () =>
      agent === 'claude' ? findLatestClaude(homes.claude, cwd) : findLatestCodex(homes.codex, cwd),
  });
  return { agent, homes, cwd, hearsMessages, ...choice };
}

/**
 * The last conversation of this clone with the agent. One that another clone recorded does not count: orch would look
 * for it among this user's own files, and its id would become an argument of the agent.
 */
function findOwnConversation(state: State, agent: AgentName, writer: WriterId): AgentSessionId | null {
  const last = readCurrent(state, 'agent');
  const by = lookUp(state.current, 'agent')?.stamp[1];
  return last?.name === agent && by === writer ? readAgentSession(last.session) : null;
}

function addition(session: AgentSessionId, isNew: boolean) {
  return { conversation: { session, isNew }, brief: null, hearsMessages: false };
}

function realFolder(named: string | null, cwd: string): string {
  try {
    return realPath(named === null ? cwd : resolve(cwd, named));
  } catch {
    return cwd; // the agent reports that the folder does not exist
  }
}

type Choice = Pick<AgentPlan, 'session' | 'continues' | 'isAdded' | 'unseen'>;

function choose(
  said: Exclude<Conversation, { kind: 'none' }>,
  known: {
    readonly last: AgentSessionId | null;
    readonly fresh: AgentSessionId | null;
    readonly latest: () => AgentSessionId | null;
  },
): Choice {
  const plain = { continues: false, isAdded: false, unseen: null };
  switch (said.kind) {
    case 'unknown':
      return { ...plain, session: null, unseen: said.why };
    case 'named':
      return { ...plain, session: said.session, continues: !said.isNew };
    case 'latest': {
      const session = known.latest();
      return { ...plain, session, continues: session !== null };
    }
    case 'open':
      if (known.last) return { ...plain, session: known.last, continues: true, isAdded: true };
      return { ...plain, session: known.fresh, isAdded: known.fresh !== null };
  }
}

/** Finds the file of a conversation. */
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

/** Writes the command line that gives the agent its conversation, and the brief if there is a place for it. */
export function writeCommand(
  argv: readonly string[],
  plan: AgentPlan,
  brief: BriefToGive | null,
): { readonly argv: readonly string[]; readonly given: BriefGiven } {
  const [program = '', ...args] = argv;
  const { session, continues, isAdded, hearsMessages } = plan;
  const conversation = session !== null && isAdded ? { session, isNew: !continues } : null;
  const added = commandOf(plan.agent).add(args, { conversation, brief, hearsMessages });
  return { argv: [program, ...added.args], given: added.given };
}

/** The fact that names the agent and its conversation. */
export function agentFact(name: AgentName, session: AgentSessionId, model: string | null): Fact {
  return { kind: 'current_set', key: 'agent', value: { name, session, model } };
}

/** Makes a version 4 UUID from the random port. */
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
  if (session === null) throw new Error('made an invalid UUID');
  return session;
}
