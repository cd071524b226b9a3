import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AgentHomes } from '../agents/agent-files.ts';
import type { Orch } from '../orch.ts';
import { readView } from '../record/view.ts';
import { briefPath, quoteNews } from '../session/handover.ts';
import type { Started } from '../session/lifecycle.ts';
import { messagesFolder } from '../session/messages.ts';
import { inheritedEnvironment } from '../system/process/spawn.ts';
import type { EpicId } from '../types.ts';
import { type AgentPlan, planConversation } from './conversation.ts';
import { type Follower, type FollowRequest, followAgents } from './follow-agent.ts';

/** The command is an agent that orch knows. */
export type ConversationEvent = {
  readonly kind: 'conversation';
  readonly agent: string;
  /** The conversation that orch makes it continue. */
  readonly continued: string | null;
  /** Why its cost cannot be read from its files. */
  readonly unseen: string | null;
  /** Is there a brief that has no place in its command line? It is in the file ORCH_BRIEF_FILE names. */
  readonly isBriefLeftOut: boolean;
};

/** Plans the agent's conversation; null if the command is no known agent. */
export async function planAgent(
  orch: Orch,
  epic: EpicId,
  {
    argv,
    cwd,
    resumes,
    messages,
  }: {
    readonly argv: readonly string[];
    readonly cwd: string;
    readonly resumes: boolean;
    readonly messages: string | undefined;
  },
): Promise<AgentPlan | null> {
  return planConversation(orch.random, (await readView(orch, epic)).state, {
    argv,
    cwd,
    homes: findAgentHomes(),
    resumes,
    writer: await orch.identifyWriter(),
    // What a worker starts itself inherits the variable, and hears nothing.
    hearsMessages: messages === messagesFolder(orch.home, epic),
  });
}

/** Where agents started by this process keep their files. */
export function findAgentHomes(): AgentHomes {
  const { CLAUDE_CONFIG_DIR, CODEX_HOME } = inheritedEnvironment();
  return {
    claude: CLAUDE_CONFIG_DIR || join(homedir(), '.claude'),
    codex: CODEX_HOME || join(homedir(), '.codex'),
  };
}

/** Begins to follow what the agent writes about itself, and gives it its brief. */
export async function followCommand(
  orch: Orch,
  { target, state, handover }: Started,
  plan: AgentPlan | null,
  {
    argv,
    waitsAtLimit,
    onEvent,
  }: Pick<FollowRequest, 'argv' | 'waitsAtLimit'> & {
    readonly onEvent: (event: ConversationEvent) => void;
  },
): Promise<Follower> {
  // A conversation that continues already has its own context, so its brief has only what happened elsewhere.
  const conversation = plan?.continues ? plan.session : null;
  const text =
    handover && conversation !== null
      ? await quoteNews(orch, await readView(orch, target.epic), conversation)
      : (handover?.quoted ?? null);
  const brief = text === null ? null : { text, file: briefPath(orch.home, target.session) };
  const follower = await followAgents(orch, target, { argv, plan, brief, state, waitsAtLimit });
  if (plan)
    onEvent({
      kind: 'conversation',
      agent: plan.agent,
      continued: plan.continues && plan.isAdded ? plan.session : null,
      unseen: plan.unseen,
      isBriefLeftOut: brief !== null && !plan.continues && follower.given === null,
    });
  return follower;
}
