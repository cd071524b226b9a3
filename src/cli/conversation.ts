import { homedir } from 'node:os';
import { join } from 'node:path';
import { OrchError } from '../errors.ts';
import type { AgentHomes } from '../integration/agent-files.ts';
import type { Orch } from '../orch.ts';
import { type Follower, followAgents } from '../session/agent-follow.ts';
import { readView } from '../session/context.ts';
import { type AgentPlan, planConversation } from '../session/conversation.ts';
import { briefPath, quoteNews } from '../session/handover.ts';
import type { Started } from '../session/lifecycle.ts';
import type { EpicId } from '../types.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** What an agent behind `--` is to do at its provider's limit. */
function waitsAtLimit(call: Call): boolean {
  const what = textOf(call, 'on-limit') ?? 'wait';
  if (what === 'wait' || what === 'fail') return what === 'wait';
  throw new OrchError('USAGE', `--on-limit is ${JSON.stringify(what)}; it can be wait or fail`, {
    hint: 'Leave it out: it waits',
  });
}

/** The conversation the agent behind `--` has; null where the command is none. */
export async function planAgent(
  { cwd }: Context,
  orch: Orch,
  call: Call,
  epic: EpicId,
  resumes: boolean,
): Promise<AgentPlan | null> {
  waitsAtLimit(call); // said before anything begins, where it is wrong
  const { state } = await readView(orch, epic);
  const writer = await orch.identifyWriter();
  return planConversation(orch.random, state, {
    argv: call.rest,
    cwd,
    homes: agentHomes(),
    resumes,
    writer,
  });
}

function agentHomes(): AgentHomes {
  const { CLAUDE_CONFIG_DIR, CODEX_HOME } = process.env;
  return {
    claude: CLAUDE_CONFIG_DIR || join(homedir(), '.claude'),
    codex: CODEX_HOME || join(homedir(), '.codex'),
  };
}

/** Begins to follow what the command behind `--` writes of itself, and tells what cannot be followed. */
export async function followCommand(
  orch: Orch,
  { target, state, handover }: Started,
  call: Call,
  plan: AgentPlan | null,
  tell: (text: string) => void,
): Promise<Follower> {
  const text = handover && (await briefFor(orch, target.epic, plan, handover.quoted));
  const brief = text === null ? null : { text, file: briefPath(orch.home, target.session) };
  const request = { argv: call.rest, plan, brief, state, waitsAtLimit: waitsAtLimit(call) };
  const follower = await followAgents(orch, target, request);
  if (plan === null) return follower;
  const { agent, session, unseen, goesOn } = plan;
  if (unseen !== null) tell(`      ${agent}: ${unseen}, so only hooks can tell what it costs.`);
  if (goesOn && plan.isAdded) tell(`      ${agent} continues its conversation ${session?.slice(0, 8)}.`);
  else if (brief !== null && !goesOn && follower.given === null)
    tell(`      There is no place for the brief in this command: it is in the file ORCH_BRIEF_FILE names.`);
  return follower;
}

/** A conversation that is continued is told only what happened elsewhere. */
async function briefFor(
  orch: Orch,
  epic: EpicId,
  plan: AgentPlan | null,
  whole: string,
): Promise<string | null> {
  if (!plan?.goesOn || plan.session === null) return whole;
  return quoteNews(orch, await readView(orch, epic), plan.session);
}
